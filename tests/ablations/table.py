"""What makes the promises of delivery true, each part switched off, and the test that notices.

1. An ablation is made of replacements that each fit exactly once: when the code moves, its ablation moves with it.
2. The test passes with every other one, and fails on the ablation every time: it waits at gates, not for chance.
3. `docs/topics/faults.md` has the same table for readers; a test compares them.
"""

from tests.ablations.ablation import Ablation, Change
from tests.ablations.callers import CALLERS
from tests.ablations.logs import LOGS
from tests.ablations.offsets import OFFSETS
from tests.ablations.tools import TOOLS

TAKEN_OVER = "            await self._patiently(lambda: self._take_over(list(lanes.values()), generation))\n"
COMMITS_READ = "            committed = await self._patiently(lambda: commits(consumer, partitions))\n"

ABLATIONS = (
    Ablation(
        "every owner of a partition has the same transactional id",
        "a worker presumed dead ends its transaction beside the new owner's: events come twice",
        "integration/test_zombies.py::test_a_transaction_that_is_not_over_at_a_takeover_is_never_seen",
        (
            Change(
                "kafka/transaction.py",
                'return f"{kafka.transactional_id_prefix}-{kafka.group_id}-{topic}-{number}"',
                'return f"{kafka.transactional_id_prefix}-{kafka.group_id}-{topic}-{number}-{id(kafka)}"',
            ),
        ),
    ),
    Ablation(
        "the offset is read after InitProducerId",
        "the previous owner commits between the two: its last events come twice",
        "integration/test_zombies.py::test_offsets_are_read_when_the_owner_before_can_commit_no_more",
        (
            Change(
                "worker/ownership.py",
                TAKEN_OVER + COMMITS_READ,
                COMMITS_READ + TAKEN_OVER,
            ),
        ),
    ),
    Ablation(
        "a transaction ends only when all its outputs are acknowledged",
        "the client commits without an output that the broker refused: the events are lost",
        "integration/test_order.py::test_no_transaction_is_committed_without_one_of_its_outputs",
        (Change("kafka/transaction.py", "                await acknowledged()\n", ""),),
    ),
    Ablation(
        "an offset is committed only when its outputs are acknowledged",
        "a worker dies with outputs in flight, and no other publishes them again: the events are lost",
        "integration/test_order.py::test_no_offset_is_committed_before_its_outputs_are_acknowledged",
        (
            Change(
                "worker/lane.py",
                "while slices and all(box.acked >= needed for box, needed in slices[0].needs):",
                "while slices:",
            ),
        ),
    ),
    Ablation(
        "a worker without a generation commits nothing",
        "the broker takes the commit of an evicted worker for that of a tool: the group's offset moves back",
        "integration/test_zombies.py::test_an_evicted_worker_does_not_move_the_offset_back",
        (Change("worker/commit.py", "generation_of(self._consumer) <= 0:", "generation_of(self._consumer) < -1:"),),
    ),
    Ablation(
        "a worker has one commit in flight at a time",
        "an older commit overtakes a newer one: the group's offset moves back",
        "worker/test_commit.py::test_one_commit_is_in_flight_at_a_time",
        (
            Change(
                "worker/commit.py", "self._one_at_a_time = asyncio.Lock()", "self._one_at_a_time = asyncio.Semaphore(9)"
            ),
        ),
    ),
    Ablation(
        "a partition has one transaction at a time",
        "a partition that is given up gets two commits at once: nobody knows what its last transaction contains",
        "worker/test_exactly_once.py::test_a_lane_has_one_transaction_at_a_time",
        (
            Change(
                "worker/exactly_once.py",
                "self.one_at_a_time = asyncio.Lock()",
                "self.one_at_a_time = asyncio.Semaphore(9)",
            ),
        ),
    ),
    Ablation(
        "the group is asked before a partition is taken over",
        "a worker that has lost the partition without noticing fences the new owner, which ends",
        "integration/test_lanes_again.py::test_who_is_no_member_any_more_fences_nobody",
        (Change("worker/ownership.py", "        await still_a_member(self._parts.consumer)\n", ""),),
    ),
    Ablation(
        "a snapshot is written after its commit",
        "a worker dies between the two: the snapshot is ahead of the commit, and all its state has to be replayed",
        "integration/test_order.py::test_no_snapshot_is_written_before_its_offset_is_committed",
        (
            Change(
                "worker/commit.py",
                """        await self._commit_due(live)
        for lane in live:
            if lane.committed is not None:
                self._writer.committed(lane.snapshots, lane.committed.offset)
""",
                """        for lane in live:
            self._writer.committed(lane.snapshots, lane.partition.offset)
        await self._commit_due(live)
""",
            ),
        ),
    ),
    Ablation(
        "a snapshot ahead of the commit is not used",
        "what lies between commit and snapshot is never published",
        "integration/test_restores.py::test_a_snapshot_ahead_of_the_commit_is_not_believed",
        (
            Change("worker/restore.py", "low_water <= snapshot <= mark.offset and", "low_water <= snapshot and"),
            Change(
                "partition/rebuild.py",
                "if not mark.unseen_until <= meta.offset <= mark.offset:",
                "if not mark.unseen_until <= meta.offset:",
            ),
            # It would be found out by what it gives, and thrown away then.
            Change("worker/ownership.py", 'if chosen.source == "redis":', "if False:"),
        ),
    ),
    Ablation(
        "Redis applies changes only to the head for which they were made",
        "a late worker's changes mix with the new owner's: chunks are applied twice after the next restore",
        "integration/test_zombies.py::test_changes_that_come_late_do_not_mix_with_the_new_owners_snapshot",
        (
            Change(
                "store/delta.lua",
                "if not same or redis.call('HLEN', KEYS[2]) ~= tonumber(head[4]) then",
                "if false then",
            ),
        ),
    ),
    Ablation(
        "Redis replaces only the head that the writer knows",
        "a late worker's snapshot replaces a newer one: the store gets older, and a restore replays more",
        "integration/test_zombies.py::test_a_whole_snapshot_that_comes_late_does_not_replace_a_newer_one",
        (
            Change(
                "store/switch.lua",
                "if (head[1] or '') ~= ARGV[1] or (head[2] or '') ~= ARGV[2] or (head[3] or '') ~= ARGV[3] then",
                "if false then",
            ),
        ),
    ),
    Ablation(
        "Redis applies changes only to a snapshot that is there",
        "after FLUSHALL, changes alone pass for a snapshot: open messages are forgotten",
        "integration/test_restores.py::test_changes_are_not_applied_to_a_store_that_was_emptied",
        (
            Change(
                "store/delta.lua",
                "if not same or redis.call('HLEN', KEYS[2]) ~= tonumber(head[4]) then",
                "if false then",
            ),
            Change("store/delta.lua", "'HSET', KEYS[1], 'epoch'", "'HSET', KEYS[1], 'generation', ARGV[1], 'epoch'"),
        ),
    ),
    Ablation(
        "a refused write is followed by a whole snapshot",
        "after FLUSHALL, the next changes pass for a snapshot: open messages are forgotten",
        "integration/test_restores.py::test_changes_are_not_applied_to_a_store_that_was_emptied",
        (
            Change(
                "worker/snapshots.py",
                "        # Until the write succeeds the store lacks these changes.\n        self.full = True\n",
                "        self.full = False\n",
            ),
        ),
    ),
    Ablation(
        "a writer that a newer owner has overtaken stops",
        "a late worker writes over the new owner's snapshots, again and again",
        "worker/test_snapshots.py::test_a_newer_owner_s_write_ends_ours",
        (Change("worker/snapshots.py", "if snapshots.overtaken or snapshots.captured", "if snapshots.captured"),),
    ),
    Ablation(
        "a reader starts again if the snapshot changes while it reads",
        "half of one snapshot and half of another are taken for one",
        "store/test_redis.py::test_a_reader_starts_again_when_the_head_changes",
        (Change("store/redis.py", "if again == head and complete:", "if True:"),),
    ),
    Ablation(
        "between two pages of changes there is no valid snapshot",
        "a worker dies in between: some messages are newer than the snapshot says, and chunks are applied twice",
        "store/test_redis.py::test_a_delta_whose_writer_died_between_two_pages_is_no_snapshot",
        (Change("store/delta.lua", "'writing', ARGV[5], 'fields'", "'fields'"),),
    ),
    Ablation(
        "the number of fields is part of the head",
        "a snapshot of which Redis dropped a part is taken for whole: open messages are forgotten",
        "store/test_redis.py::test_a_snapshot_that_lost_fields_is_none",
        (Change("store/redis.py", "if len(fields) == head.fields else None", "if fields else None"),),
    ),
    Ablation(
        "the state of dialects is in the snapshot",
        "what a client gets after a restore does not fit what it got before",
        "integration/test_restores.py::test_what_a_dialect_remembers_is_in_the_snapshot",
        (Change("partition/rebuild.py", "type_() if place is None else", "type_() if True else"),),
    ),
    Ablation(
        "a commit records where a replay has to begin",
        "without a snapshot, open messages are forgotten: they open again",
        "integration/test_restores.py::test_a_replay_publishes_nothing_and_gives_the_state",
        (
            Change(
                "worker/restore.py",
                "start = min(max(mark.low_water, extent.first), mark.offset)",
                "start = mark.offset",
            ),
        ),
    ),
    Ablation(
        "a replay is silent",
        "events come again with each restore",
        "integration/test_restores.py::test_a_replay_publishes_nothing_and_gives_the_state",
        (
            Change("partition/partition.py", "self._outputs.silent = True", "self._outputs.silent = False"),
            Change("worker/ownership.py", "lane.partition.replay(old)", "lane.process(old)"),
        ),
    ),
    Ablation(
        "a replay writes no dead letters",
        "dead letters come again with each restore",
        "integration/test_restores.py::test_a_replay_publishes_nothing_and_gives_the_state",
        (Change("worker/ownership.py", "lane.partition.replay(old)", "lane.process(old)"),),
    ),
    Ablation(
        "partitions are paused again at each assignment",
        "records come before the state that they need: they are fetched for nothing, or end the replay too soon",
        "integration/test_restores.py::test_nothing_is_read_before_the_state_is_there",
        (Change("worker/ownership.py", "        parts.consumer.pause(*assigned)\n", ""),),
    ),
    Ablation(
        "parked state is used only if the broker has exactly its commit",
        "after a rebalance a worker continues where it was, not where the owner in between had got to",
        "worker/test_ownership.py::test_parked_state_is_not_believed_when_the_commit_moved",
        (
            Change("worker/restore.py", "return committed.mark == mark and", "return"),
            Change("worker/restore.py", "if committed is None or committed.mark is None:", "if committed is None:"),
        ),
    ),
    Ablation(
        "a partition that is given up takes nothing more of what was read",
        "the state that is parked is ahead of its commit: what comes of the records between is lost",
        "worker/test_engine.py::test_what_is_given_up_takes_nothing_more_of_what_was_read",
        (Change("worker/engine.py", " and not self.ownership.outside", ""),),
    ),
    Ablation(
        "a partition that is placed anew takes nothing more of what was read",
        "records that are read again are applied twice",
        "worker/test_engine.py::test_a_partition_that_is_placed_anew_meanwhile_reads_the_rest_again",
        (Change("worker/engine.py", "self._place(tp) == places[tp] and ", ""),),
    ),
    Ablation(
        "a static member does not leave when it stops",
        "a rolling restart moves every partition, twice",
        "integration/test_static_members.py::test_a_static_member_that_stops_and_comes_back_moves_no_partition",
        (Change("kafka/clients.py", "group_instance_id=kafka.group_instance_id", "group_instance_id=None"),),
    ),
    Ablation(
        "only committed input is read",
        "what a producer aborted and sent again is there twice",
        "integration/test_restores.py::test_input_of_a_transaction_that_was_aborted_is_not_read",
        (
            Change(
                "kafka/clients.py",
                'isolation_level="read_committed",\n        group_id=kafka.group_id',
                'isolation_level="read_uncommitted",\n        group_id=kafka.group_id',
            ),
        ),
    ),
    Ablation(
        "a timeout names the last offset that its writer saw",
        "a message that continues at the last moment is cut off in the middle",
        "partition/test_idle.py::test_chunks_that_come_in_between_make_it_stale",
        (Change("partition/chunks.py", "other and not condition.holds(message.opened, last)", "False"),),
    ),
    Ablation(
        "records below a partition's offset are skipped",
        "what was fetched before a seek is applied twice",
        "partition/test_partition.py::test_offsets_below_the_next_one_are_skipped",
        (Change("partition/partition.py", "if offset < self.offset:", "if offset < 0:"),),
    ),
    Ablation(
        "commits remember what was announced as lost",
        "with each restore, clients are told again that messages are lost",
        "partition/test_recovery.py::TestUnseen::test_a_later_replay_does_not_announce_them_again",
        (Change("partition/partition.py", "unseen_until=gaps.unseen_until", "unseen_until=0"),),
    ),
    Ablation(
        "a commit names the configuration of its state",
        "a replay under other settings gives a state that never existed, and its events continue amid others",
        "partition/test_recovery.py::TestForeign::test_without_a_snapshot_open_messages_end",
        (Change("partition/recovery.py", "self.start <= choice.pinned < self.foreign_until(fingerprint)", "False"),),
    ),
    *OFFSETS,
    *LOGS,
    *CALLERS,
    *TOOLS,
)
