"""The index of a partition's messages."""

from tests.partition.logs import SETTINGS, log, partition, run, types
from tests.support.restoring import restore
from tokenmill.partition import Partition, size_of


def counts(state: Partition) -> tuple[int, int, int]:
    """Open messages, remembered ones included, and sets of options."""
    messages = state._messages
    return messages.count, len(list(messages)), len(messages.options)


def test_ended_messages_are_remembered_for_a_while() -> None:
    """For the number of offsets in the settings, including gaps."""
    state = partition({"message_id": "m", "delta": "a", "end": True})
    assert counts(state) == (0, 1, 1)
    run(state, log({"message_id": "x", "usage": {}}, start=100))
    assert counts(state) == (0, 1, 1)
    run(state, log({"message_id": "x", "usage": {}}, start=101))
    assert counts(state) == (0, 0, 0)


def test_what_a_snapshot_remembers_is_forgotten_in_time() -> None:
    """The end counts, not the restore."""
    state = partition({"message_id": "m", "delta": "a", "end": True})
    write = state.changes(full=True)
    again = restore(SETTINGS, "tokens", 0, state.mark(), (write.meta, write.changed))
    for offset, known in ((100, 1), (101, 0)):
        run(again, log({"message_id": "x", "usage": {}}, start=offset))
        assert counts(again) == (0, known, known)


def test_an_id_in_use_again_is_not_forgotten_with_its_first_use() -> None:
    """The memory of the first end goes, the message stays."""
    state = partition({"message_id": "m", "delta": "a", "end": True}, {"message_id": "m", "open": {}})
    run(state, log({"message_id": "x", "usage": {}}, start=500))
    assert counts(state) == (1, 1, 1)


def test_options_are_there_as_long_as_a_choice_uses_them() -> None:
    """Messages with the same options share one."""
    state = partition(
        {"message_id": "a", "open": {"format": "hermes"}},
        {"message_id": "b", "open": {"format": "hermes"}},
        {"message_id": "c", "open": {"format": "qwen3_xml"}},
        {"message_id": "c", "end": True},
    )
    assert counts(state) == (2, 3, 2)
    assert [grammar.format_names for grammar in state.grammars.values()] == [["hermes"]]
    run(state, log({"message_id": "x", "usage": {}}, start=200))
    assert counts(state) == (2, 2, 1)


TOOL = {"type": "function", "function": {"name": "f", "parameters": {"properties": {f"p{n}": {} for n in range(99)}}}}

OWN = {"message_id": "m", "open": {"format": "hermes", "tools": [TOOL]}, "delta": "a"}


def test_what_has_ended_holds_no_grammar() -> None:
    """Nothing but thousands of records would make it go: ended messages that held theirs left no memory for others."""
    state = partition(OWN)
    (grammar,) = state.grammars.values()
    run(state, log({"message_id": "m", "end": True}, start=1))
    state.mark()
    assert (dict(state.grammars), size_of([state])) == ({}, 0)
    assert 0 < state.size < grammar.memory / 10
    assert not any(choice.envelope.request.tools for message in state._messages for choice in message.choices)
    run(state, log({"message_id": "x", "usage": {}}, start=200))
    assert state.size == 0


def test_another_choice_has_the_options_of_one_that_has_ended() -> None:
    """Compiled again, also where a snapshot has come between."""
    state = partition(OWN, {"message_id": "m", "end": True})
    write = state.changes(full=True)
    again = restore(SETTINGS, "tokens", 0, state.mark(), (write.meta, write.changed))
    call = '<tool_call>{"name": "f", "arguments": {"p1": "x"}}</tool_call>'
    outs = [run(each, log({"message_id": "m", "choice": 1, "delta": call}, start=2)) for each in (state, again)]
    assert outs[0] == outs[1]
    assert "tool-call" in types(outs[0])
    assert b'"tools":{"f"' in (outs[0][0].value or b"")
    assert len(state.grammars) == len(again.grammars) == 1
    assert again.mark() == state.mark()
    assert again.changes(full=True) == state.changes(full=True)


def test_the_digest_is_of_what_is_open_alone() -> None:
    """However it came about, and back to nothing when all have ended."""
    state = partition({"message_id": "a", "delta": "x"})
    alone = state.mark().digest
    run(state, log({"message_id": "b", "delta": "x"}, start=1))
    both = state.mark().digest
    assert len({alone, both, 0}) == 3
    run(state, log({"message_id": "b", "end": True}, start=2))
    assert state.mark().digest == alone
    run(state, log({"message_id": "a", "end": True}, start=3))
    assert state.mark().digest == 0


def test_what_came_and_went_between_two_looks_leaves_nothing() -> None:
    """A message that opened, was looked at, ended, and was opened again before the next look."""
    state = partition({"message_id": "m", "delta": "x"})
    state.mark()
    run(
        state,
        log(
            {"message_id": "m", "end": True}, {"message_id": "m", "open": {}}, {"message_id": "m", "end": True}, start=1
        ),
    )
    assert (state.mark().count, state.mark().digest, state.own_size) == (0, 0, 0)


def test_held_text_is_part_of_the_size() -> None:
    """While a call is open its source is kept."""
    state = partition({"message_id": "m", "open": {"format": "hermes"}, "delta": '<tool_call>{"name": "f"'})
    state.mark()
    small = state.own_size
    run(state, log({"message_id": "m", "delta": ', "arguments": {"a": "' + "x" * 10_000}, start=1))
    state.mark()
    assert state.own_size >= small + 10_000
    run(state, log({"message_id": "m", "end": True}, start=2))
    state.mark()
    assert state.own_size == 0
