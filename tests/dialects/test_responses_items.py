"""The items of a Responses stream: how much of them is said again."""

import json

import pytest

from tokenmill.dialects.responses_items import (
    ITEM_BYTES,
    KEPT_BYTES,
    REASONING,
    SENT_BACK_CHARS,
    TEXT,
    UNSAID,
    Items,
    part_of,
)


def test_items_are_numbered_as_they_begin() -> None:
    """Ids are made of the response's base, the kind and the number."""
    items = Items(base="b")
    assert items.begin_block(REASONING).id == "rs_b_0"
    assert items.begin_call("c", "f", json=True).id == "fc_b_1"
    assert items.begin_block(TEXT).id == "msg_b_2"


def test_a_text_is_kept_up_to_a_point_and_then_no_more() -> None:
    """What comes behind a piece that did not fit would be in the wrong place."""
    block = Items().begin_block(TEXT)
    for text in ("a" * 100, "b" * 1_000, "c"):
        block.keep(text, len(text), ITEM_BYTES + 500)
    assert block.said.text() == "a" * 100
    assert block.full


def test_an_item_without_room_is_said_once() -> None:
    """It is not in the response at its end."""
    items = Items()
    whole, long = {"text": "a"}, {"text": "a" * KEPT_BYTES}
    assert json.loads(items.end(0, whole)) == whole
    assert json.loads(items.end(1, long)) == long
    assert (list(items.done), items.truncated) == ([0], True)


def test_only_what_belongs_to_reasoning_is_kept_with_it() -> None:
    """Signatures and encrypted content, if they are as short as such things are."""
    items = Items()
    for kind, value, kept in (
        ("signature", "s", "s"),
        ("citation", "c", "s"),
        ("signature", "", "s"),
        ("signature", "s", "s"),
    ):
        block = items.block or items.begin_block(REASONING)
        block.keep_beside(kind, value)
        assert block.encrypted == kept
    assert part_of(TEXT, "a") == {"type": "output_text", "text": "a", "annotations": [], "logprobs": []}


@pytest.mark.parametrize("values", [["s", "t"], ["s", "t", "t"], ["s" * (SENT_BACK_CHARS + 1), "t"]])
def test_a_signature_of_a_part_of_the_reasoning_is_not_kept(values: list[str]) -> None:
    """Whoever sent it back with all of it would be refused."""
    items = Items()
    block = items.begin_block(REASONING)
    for value in values:
        block.keep_beside("signature", value)
    assert "encrypted_content" not in block.item("completed", [])
    assert items.memory == block.said.memory


def test_a_text_that_is_not_all_there_has_no_signature() -> None:
    """Who is given both refuses the one with the other."""
    block = Items().begin_block(REASONING)
    block.keep_beside("signature", "c2ln")
    assert block.item("completed", [])["encrypted_content"] == "c2ln"
    block.keep("a" * 100, 100, ITEM_BYTES)
    assert "encrypted_content" not in block.item("incomplete", [])


def test_a_response_repeats_what_no_request_said() -> None:
    """Beside its own fields and the items that have ended, in their order."""
    items = Items()
    items.end(1, {"b": 1})
    items.end(0, {"a": 1})
    response = json.loads(bytes(items.within({"id": "r"})))
    assert (response["id"], response["metadata"], response["output"]) == ("r", {}, [{"a": 1}, {"b": 1}])
    assert json.loads(b"{%b}" % UNSAID).items() <= response.items()
    items.truncated = True
    assert json.loads(bytes(items.within({})))["metadata"] == {"tm-truncated": "1"}
