"""Values of any content."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tokenmill.codecs.plain import check_plain, read_object
from tokenmill.errors import Undecodable
from tokenmill.limits import JSON_DEPTH, RECORD_DEPTH


def nested(depth: int) -> Any:
    """Lists in lists."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [None, {}, [], "x", 1, 1.5, True, {"a": [{"b": None}]}, 2**64 - 1, -(2**63), nested(JSON_DEPTH)]
)
def test_plain_values_pass(value: Any) -> None:
    """Whatever JSON can express, up to the limits."""
    check_plain(value, "part")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (nested(JSON_DEPTH + 1), "deep"),
        ({1: 2}, "key"),
        ({"a": [2**64]}, "64 bits"),
        (-(2**63) - 1, "64 bits"),
        ([b"x"], "bytes"),
        ({"a": {(1,): 2}}, "key"),
    ],
)
def test_others_are_refused_by_the_name_of_the_field(value: Any, why: str) -> None:
    """The producer has to find what it sent."""
    with pytest.raises(Undecodable, match=f"`part`.*{why}"):
        check_plain(value, "part")


def at_depth(frames: int, read: Callable[[], Any]) -> Any:
    """What a function returns that is called from so many others."""
    return at_depth(frames - 1, read) if frames else read()


@pytest.mark.parametrize("frames", [0, 300])
@pytest.mark.parametrize("lists", [True, False])
def test_how_deep_an_object_may_be_does_not_depend_on_its_reader(frames: int, *, lists: bool) -> None:
    """What a worker has read it reads in a replay as well. Brackets in texts are none."""
    begin, end = ("[", "]") if lists else ('{"b":', "}")
    for depth, whole in ((RECORD_DEPTH - 1, True), (RECORD_DEPTH, False), (RECORD_DEPTH + 400, False)):
        text = f'{{"c":"{"[{" * 900}\\"","a":{begin * depth}1{end * depth}}}'
        for written in (text, text.encode()):
            read = partial(read_object, written, "a part")
            if whole:
                assert at_depth(frames, read).keys() == {"a", "c"}
            else:
                with pytest.raises(Undecodable, match=f"not a part: nested more than {RECORD_DEPTH} deep"):
                    at_depth(frames, read)


def test_an_object_is_read_with_halves_of_pairs() -> None:
    """Producers cut their text by UTF-16 units."""
    assert read_object(b'{"a":"\\ud83d\\ude00","b":"\\ud83d"}', "a part") == {
        "a": "😀",
        "b": "\N{REPLACEMENT CHARACTER}",
    }
    assert read_object('{"a":1}', "a part") == {"a": 1}


@pytest.mark.parametrize("value", [b"[]", b"x", b'{"a":"\\ud83d"', b'["\\ud83d"]', b"\xff", b'{"a":' * 3000])
def test_what_is_no_object_is_refused_by_what_it_should_be(value: bytes) -> None:
    """The producer has to find what it sent."""
    with pytest.raises(Undecodable, match="not a part"):
        read_object(value, "a part")
