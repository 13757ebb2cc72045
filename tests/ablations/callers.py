"""Rows about answers whose caller is lost, stands still or comes back, and about who stops one."""

from tests.ablations.ablation import Ablation, Change

CALLERS = (
    Ablation(
        "a caller that was suspended asks the group before it begins the requests that it read",
        "it begins requests that another caller has by now: the model is called twice, and either text may count",
        "integration/test_caller_member.py::test_who_stood_still_begins_nothing_before_the_group_says_that_it_may",
        (
            Change(
                "caller/caller.py",
                "ours = not batches or self._membership.known or await self._commit(consumer, everything=True)",
                "ours = True",
            ),
        ),
    ),
    Ablation(
        "requests older than the ownership of their partition are watched, not begun",
        "an answer that continues at another caller is begun again, in the same range of numbers",
        "integration/test_caller_member.py::test_what_was_asked_for_before_is_not_begun_but_looked_after",
        (Change("caller/caller.py", "is_inherited = record.offset < offsets.inherited_until", "is_inherited = False"),),
    ),
    Ablation(
        "a caller commits below every answer that is not over",
        "it dies, and no caller looks after its answers: their readers wait for an end that never comes",
        "caller/test_offsets.py::test_what_is_committed_lies_below_everything_unfinished",
        (Change("caller/offsets.py", "return next(iter(self._unfinished), self.read)", "return self.read"),),
    ),
    Ablation(
        "an answer whose end Kafka did not accept is not over",
        "its request is committed, and no caller writes its end",
        "caller/test_running.py::test_an_answer_whose_end_kafka_does_not_take_is_looked_for",
        (Change("caller/running.py", "known=problem is None and not run.answer.left", "known=problem is None"),),
    ),
    Ablation(
        "a caller's commit is sent once",
        "sent again, it counts as another member's: requests whose answers have no end are skipped",
        "caller/test_membership.py::test_a_refusal_tells_nothing",
        (
            Change(
                "caller/membership.py",
                "deadline(commit_once(consumer, marks), ",
                "deadline(consumer.commit(dict(offsets)), ",
            ),
        ),
    ),
    Ablation(
        "a caller's commit covers only partitions that the caller had when it was made",
        "one that waited covers partitions of an earlier assignment: requests whose answers have no end are skipped",
        "caller/test_membership.py::test_a_commit_that_waits_is_not_sent_for_partitions_of_before",
        (Change("caller/membership.py", "if number != self._rebalances or generation", "if generation"),),
    ),
    Ablation(
        "a caller without a generation commits nothing",
        "the broker takes the commit for that of a tool: requests whose answers have no end are skipped",
        "caller/test_membership.py::test_who_is_no_member_commits_nothing",
        (Change("caller/membership.py", "generation_of(consumer) <= 0:", "generation_of(consumer) < -1:"),),
    ),
    Ablation(
        "partitions are released when they are revoked",
        "until the next assignment, commits cover partitions that may have another owner",
        "caller/test_caller.py::test_nothing_is_said_of_partitions_that_may_be_another_s",
        (
            Change(
                "caller/caller.py",
                "self._membership.rebalanced()\n        for place in list(self._offsets):",
                "self._membership.rebalanced()\n        for place in list[TopicPartition]():",
            ),
        ),
    ),
    Ablation(
        "silence counts only while the log is read",
        "Kafka was away, and no caller could write: each answer is taken from a caller that lives",
        "caller/test_inheritance.py::test_who_could_not_be_heard_was_not_silent",
        (Change("caller/inheritance.py", "if not self._listens:", "if False:"),),
    ),
    Ablation(
        "a listener continues when partitions move",
        "a silent answer waits for as long as callers come and go faster than a lease",
        "caller/test_inheritance.py::test_who_is_silent_is_listened_to_however_partitions_move",
        (Change("caller/inheritance.py", "        self._parted = True\n", "        self._waiting.clear()\n"),),
    ),
    Ablation(
        "a writer that takes over has the next range of numbers",
        "its records pass for repeats of the previous writer's, and what that one still writes counts",
        "caller/test_writing.py::test_who_takes_over_has_the_next_range",
        (
            Change(
                "caller/writing.py",
                "number = self._attempt * RANGE + self._numbers[choice]",
                "number = self._numbers[choice]",
            ),
        ),
    ),
    Ablation(
        "the first range is never taken over",
        "a caller that read the request and was suspended begins after all: two writers are mixed",
        "caller/test_inheritance.py::test_who_begins_after_a_takeover_is_not_heard",
        (Change("caller/inheritance.py", "max(watched.progress.range, 0) + 1,", "watched.progress.range + 1,"),),
    ),
    Ablation(
        "of callers that take over, the first one in the log has the answer",
        "all of them continue it, in one range: two writers are mixed",
        "caller/test_inheritance.py::test_who_takes_over_second_has_nothing",
        (Change("caller/inheritance.py", "if (ours.name, ours.range) != (name, number):", "if ours.range != number:"),),
    ),
    Ablation(
        "signs of life of an overtaken caller count for nothing",
        "if the caller that took over is lost, too, no other follows while the overtaken one lives",
        "caller/test_answer_progress.py::test_who_was_overtaken_gives_signs_of_nobody_s_life",
        (
            Change(
                "caller/answer_progress.py",
                "number = number_in(record.headers, SIGN_RANGE, self.range) if chunk.seq is None",
                "number = self.range if chunk.seq is None",
            ),
        ),
    ),
    Ablation(
        "an answer that ends elsewhere closes its connection to the model server",
        "the server keeps writing what nobody wants or another caller writes, and its place stays taken",
        "caller/test_answer.py::test_a_stop_leaves_the_server_at_once",
        (
            Change(
                "caller/answer.py",
                "        self.unwanted = True\n        task.cancel()\n",
                "        self.unwanted = True\n",
            ),
        ),
    ),
    Ablation(
        "the other fronts are asked before an answer is stopped",
        "a reader at another front sees its answer end as stopped",
        "front/test_readers.py::test_what_another_front_reads_is_not_stopped",
        (Change("front/readers.py", "if self._others is not None:", "if False:"),),
    ),
    Ablation(
        "of requests with one key the first record counts",
        "two fronts that get the same request at once call the model twice, and give two answers",
        "front/test_request_index.py::test_of_a_key_the_first_record_of_each_attempt_counts",
        (
            Change(
                "front/request_index.py",
                "if request.key and (request.key, request.attempt) in self._by_key:",
                "if False:",
            ),
        ),
    ),
)
