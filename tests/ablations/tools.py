"""Rows about calls of tools, whose runner is lost, stands still or is another one by now."""

from tests.ablations.ablation import Ablation, Change

TOOLS = (
    Ablation(
        "all owners of a partition of calls have one transactional id",
        "a runner that was thought dead claims calls beside the new owner: tools are run twice",
        "tools/test_runner.py::test_who_takes_over_fences_the_owner_before",
        (
            Change(
                "tools/runner.py",
                "name = transactional_id(kafka, place.topic, place.partition)",
                'name = f"{id(self)}-{place.partition}"',
            ),
        ),
    ),
    Ablation(
        "the group is asked before a partition of calls is taken over",
        "a runner that has lost it without hearing of it fences the one that has it now, which ends",
        "tools/test_runner.py::test_who_is_no_member_any_more_fences_nobody",
        (Change("tools/runner.py", "        await still_a_member(consumer)\n", ""),),
    ),
    Ablation(
        "a call begins after its claim is committed",
        "the claim is refused, and the call is made all the same, by the new owner, too",
        "tools/test_call_queue.py::test_a_call_whose_claim_is_refused_is_not_made",
        (
            Change(
                "tools/call_queue.py",
                "        taken = self._taken\n        await self._log.write(",
                "        taken = self._taken\n"
                '        _ = [self._running.begin(step.call, "") for step in steps if step.stage == "running"]\n'
                "        await self._log.write(",
            ),
            Change(
                "tools/call_queue.py",
                'if step.stage == "running":\n                self._running.begin',
                "if False:\n                self._running.begin",
            ),
        ),
    ),
    Ablation(
        "a call that was claimed is in doubt unless its tool may be repeated",
        "its runner is lost, and a tool that bears no second run is run again",
        "tools/test_call_queue.py::test_who_takes_over_shuts_out_the_owner_before",
        (
            Change(
                "tools/call_queue.py",
                "any(matches(pattern, call.name) for pattern in self._settings.repeat)",
                "True",
            ),
        ),
    ),
    Ablation(
        "nothing begins before all is read that was there at the takeover",
        "a call begins whose message was cancelled before the takeover",
        "tools/test_call_queue.py::test_nothing_begins_before_all_is_read_that_was_there_at_the_takeover",
        (Change("tools/call_queue.py", "return self._taken >= self._end or not self._held_back", "return True"),),
    ),
)
