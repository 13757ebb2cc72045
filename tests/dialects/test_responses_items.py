"""The items of a Responses stream."""

import json

from tokenmill.dialects.responses_items import ARGUMENTS_DELTA, ITEM_BYTES, REASONING, REFUSAL, TEXT, Items


def test_templates_are_events_of_their_kind() -> None:
    """Filled, they are JSON; only visible text has probabilities."""
    for kind in (TEXT, REFUSAL, REASONING):
        event = json.loads(kind.delta % (b"item_1", 2, b'"a"', 3))
        assert event.pop("logprobs", None) == ([] if kind is TEXT else None)
        place = {"item_id": "item_1", "output_index": 2, "content_index": 0}
        assert event == {"type": f"response.{kind.part}.delta", **place, "delta": "a", "sequence_number": 3}
    assert json.loads(ARGUMENTS_DELTA % (b"fc_1", 0, b'"{"', 1))["type"] == "response.function_call_arguments.delta"


def test_text_is_kept_as_far_as_there_is_room() -> None:
    """P8: behind the first piece that does not fit nothing is, though it would."""
    block = Items(base="b").begin_block(TEXT)
    block.keep("abc", 5, ITEM_BYTES + 10)
    block.keep("too long", 10, ITEM_BYTES + 10)
    block.keep("d", 3, ITEM_BYTES + 10)
    assert (block.said.text(), block.size, block.full) == ("abc", 5, True)


def test_items_have_indexes_and_ids_in_turn() -> None:
    """Texts and calls share the count."""
    items = Items(base="b")
    block, call = items.begin_block(REASONING), items.begin_call("call_1", "f", json=True)
    assert [(each.index, each.id) for each in (block, call)] == [(0, "rs_b_0"), (1, "fc_b_1")]
    assert items.calls == {"call_1": call}


def test_an_item_for_which_there_is_no_room_is_not_kept() -> None:
    """It is written once, at its end, and the response says that something is missing."""
    items = Items(base="b", room=10)
    assert items.end(0, {"id": "a long item"}) == b'{"id":"a long item"}'
    assert (items.done, items.truncated) == ({}, True)
