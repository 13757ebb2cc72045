"""What a body leaves open is known, as far as it can't go on by itself."""

from typing import Any

import pytest

from tokenmill.codecs import Chunk
from tokenmill.gateway.ingest.open_choices import REMEMBERED, OpenChoices


def unended(*chunks: dict[str, Any]) -> list[tuple[str | None, int]]:
    known = OpenChoices()
    for chunk in chunks:
        known.note(Chunk(**chunk))
    return list(known)


@pytest.mark.parametrize(
    ("chunks", "left"),
    [
        pytest.param([{"message_id": "m", "delta": "a"}], [("m", 0)], id="text opens"),
        pytest.param([{"delta": "a"}], [(None, 0)], id="the unnamed message"),
        pytest.param([{"message_id": "m", "usage": {}}], [], id="usage is no content"),
        pytest.param([{"message_id": "m", "delta": "a"}, {"message_id": "m", "end": True}], [], id="end"),
        pytest.param([{"message_id": "m", "delta": "a", "end": True}], [], id="text and end at once"),
        pytest.param([{"message_id": "m", "choice": n, "delta": "a"} for n in (0, 1)], [("m", 0), ("m", 1)], id="two"),
        pytest.param(
            [*({"message_id": "m", "choice": n, "delta": "a"} for n in (0, 1)), {"message_id": "m", "choice": 0}],
            [("m", 0), ("m", 1)],
            id="an empty chunk goes on",
        ),
        pytest.param(
            [
                *({"message_id": "m", "choice": n, "delta": "a"} for n in (0, 1)),
                {"message_id": "m", "control": "cancel"},
            ],
            [],
            id="a control ends all choices",
        ),
        pytest.param(
            [
                *({"message_id": "m", "choice": n, "delta": "a"} for n in (0, 1)),
                {"message_id": "m", "choice": 0, "control": "cancel"},
            ],
            [("m", 1)],
            id="or its own",
        ),
        pytest.param([{"message_id": "m", "seq": 0, "delta": "a"}], [], id="whoever numbers chunks can go on"),
    ],
)
def test_what_was_begun_and_not_ended_is_left(chunks: list[dict[str, Any]], left: list[tuple[str | None, int]]) -> None:
    """By message and choice; the rules are those of the partition."""
    assert unended(*chunks) == left


def test_only_the_first_opening_of_a_message_is_new() -> None:
    """Options go with it; they would be ignored later."""
    known = OpenChoices()
    said: list[dict[str, Any]] = [
        {"message_id": "m", "usage": {}},
        {"message_id": "m", "delta": "a"},
        {"message_id": "m", "delta": "b"},
    ]
    said.append({"message_id": "n", "delta": "a"})
    assert [known.note(Chunk(**chunk)) for chunk in said] == [
        False,
        True,
        False,
        True,
    ]
    assert known.message_id == "m"


def test_a_body_that_names_very_many_messages_takes_bounded_memory() -> None:
    """The oldest are forgotten; they end when they are idle."""
    known = OpenChoices()
    for number in range(REMEMBERED + 5):
        assert known.note(Chunk(message_id=f"m{number}", delta="a"))
    assert (len(list(known)), next(iter(known))) == (REMEMBERED, ("m5", 0))
    assert [known.note(Chunk(message_id=message, delta="b")) for message in ("m5", "m4")] == [False, True]
