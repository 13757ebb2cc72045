"""Rows about partitions that are held, and offsets that were set by hand."""

from tests.ablations.ablation import Ablation, Change

OFFSETS = (
    Ablation(
        "partitions that an output lacks are held",
        "what they hold can't be published: the worker ends again and again, and takes the other partitions along",
        "worker/test_held.py::test_what_is_held_is_not_read_and_goes_on_when_there_is_room",
        (
            Change(
                "worker/output_partitions.py",
                "held = [lane for lane in lanes if lane.partition.number >= self.partitions]",
                "held = list[Lane]()",
            ),
        ),
    ),
    Ablation(
        "messages that lost events by a skip are announced as lost",
        "an offset was moved forward: messages continue with a gap that no reader learns of",
        "partition/test_skipped.py::test_what_made_events_in_between_is_lost",
        (Change("partition/skipped.py", "if choice.seq > self._seqs.get(choice, 0):", "if False:"),),
    ),
    Ablation(
        "commits remember what was skipped",
        "a later replay takes messages that were announced as lost for intact",
        "partition/test_skipped.py::test_it_is_said_once",
        (Change("partition/partition.py", "skipped=gaps.skipped", "skipped=()"),),
    ),
    Ablation(
        "the last event on the output shows how far the group had come",
        "an offset was moved forward: nothing shows it, and messages continue with a gap",
        "worker/test_moved.py::test_the_last_event_is_that_of_the_output",
        (Change("worker/moved.py", "Move() if last is None or since is None else Move(", "Move() if True else Move("),),
    ),
    Ablation(
        "state at an offset that was set by hand is rebuilt from below it",
        "an offset was moved back: messages that were open there begin again in the middle, or are orphans",
        "worker/test_moved.py::test_a_message_that_is_open_there_goes_on_in_the_middle",
        (
            Change(
                "worker/moved.py", "return first if found is None else max(first, min(found, base))", "return offset"
            ),
        ),
    ),
)
