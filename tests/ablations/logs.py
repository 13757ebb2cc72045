"""Rows about which log a topic is, and about states that are not the committed one."""

from tests.ablations.ablation import Ablation, Change

LOGS = (
    Ablation(
        "a leader in an older epoch than that of what is committed is not believed",
        "a leader that stalled, and wakes up at a takeover, says that the log is shorter than the commit: what was "
        "published comes again",
        "integration/test_other_logs.py::"
        "test_who_has_not_heard_of_the_leader_that_wrote_what_is_committed_is_not_believed",
        (Change("kafka/topic_log.py", "if leader.epoch < mark.epoch:", "if False:"),),
    ),
    Ablation(
        "commits say in which leader's epoch their records were written",
        "the leader, and a log that has gone on otherwise, can't be compared with what is committed",
        "kafka/test_leader_epochs.py::test_commits_say_log_and_epoch",
        (
            Change(
                "worker/engine.py", "max(lane.partition.epoch, self._leader_epochs.at(tp, records[-1].offset))", "-1"
            ),
        ),
    ),
    Ablation(
        "a commit is of one topic's id",
        "a topic that was made anew is gone on with at the old one's offset: what is below that is never published",
        "integration/test_other_logs.py::test_a_commit_of_another_log_means_nothing",
        (Change("worker/restore.py", "if mark is not None and mark.log.is_another(extent.log):", "if False:"),),
    ),
    Ablation(
        "the topic's id is looked at while it is read",
        "a topic that is made anew while workers run is parsed with the state and the offsets of the old one",
        "integration/test_other_logs.py::test_a_change_of_the_log_is_seen_at_the_next_look",
        (Change("worker/log_watch.py", "if lane.partition.log.is_another(found.log)]", "if False]"),),
    ),
    Ablation(
        "the end of the commit's epoch is asked for",
        "a log that lost its end, and has grown again, passes for the one that was read: its new records are skipped",
        "worker/test_restore.py::test_a_log_that_has_other_records_there_lost_its_end_too",
        (Change("kafka/topic_log.py", "self.end if self.shared is None else min(self.end, self.shared)", "self.end"),),
    ),
    Ablation(
        "the cluster's id is in the keys of snapshots",
        "two clusters with the same names that share a Redis write over each other's snapshots, and have none",
        "store/test_redis.py::test_clusters_have_keys_of_their_own",
        (Change("store/redis.py", "{{{cluster}:{group}:", "{{{group}:"),),
    ),
    Ablation(
        "a snapshot says of which log it is",
        "the state of another log is gone on with: wrong events, from the first record on",
        "partition/test_rebuild.py::test_the_state_of_another_log_is_none",
        (Change("partition/rebuild.py", "if meta.log.diverged_from(mark.log):", "if False:"),),
    ),
    Ablation(
        "an input that is compacted is refused",
        "records of messages are missing without a gap in anything: their text is wrong, and nobody is told",
        "integration/test_other_logs.py::test_a_compacted_input_is_refused",
        (Change("worker/topic_checks.py", 'if policy not in ("", "delete"):', "if False:"),),
    ),
    Ablation(
        "a snapshot that does not give the committed state is thrown away",
        "what is published goes on from a state that never was, or ends although the log has all of it",
        "integration/test_wrong_states.py::test_a_snapshot_that_gives_another_state_is_thrown_away",
        (Change("worker/ownership.py", 'if chosen.source == "redis":', "if False:"),),
    ),
    Ablation(
        "commits remember what ended because the state disagreed",
        "with each restore such messages are open again, and are said to be lost again",
        "integration/test_wrong_states.py::test_a_state_that_disagrees_by_replay_too_is_said_to_be_lost",
        (Change("partition/recovery.py", "with_span(gaps.announced, opened_from, offset)", "()"),),
    ),
)
