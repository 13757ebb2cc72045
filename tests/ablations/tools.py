"""Rows about calls of tools, whose runner is lost, stands still or is another one by now."""

from tests.ablations.ablation import Ablation, Change

TOOLS = (
    Ablation(
        "every owner of a partition of calls has the same transactional id",
        "a runner presumed dead claims calls beside the new owner: tools are run twice",
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
        "a runner that has lost the partition without noticing fences the new owner, which ends",
        "tools/test_runner.py::test_who_is_no_member_any_more_fences_nobody",
        (Change("tools/runner.py", "        await still_a_member(consumer)\n", ""),),
    ),
    Ablation(
        "a call begins only after its claim is committed",
        "the claim is refused, but the call is made anyway, and again by the new owner",
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
        "its runner is lost, and a tool that must not run twice runs again",
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
        "nothing begins before everything that was there at the takeover is read",
        "a call begins whose message was cancelled before the takeover",
        "tools/test_call_queue.py::test_nothing_begins_before_all_is_read_that_was_there_at_the_takeover",
        (Change("tools/call_queue.py", "return self._taken >= self._end or not self._held_back", "return True"),),
    ),
)
