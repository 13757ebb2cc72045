"""Arguments that come in pieces with paths."""

import pytest

from tokenmill.codecs.gemini_arguments import AHEAD, ARGUMENT_BYTES, PartialCall
from tokenmill.errors import Undecodable


def test_a_value_of_another_kind_goes_over_what_was_there() -> None:
    """The last one counts."""
    call = PartialCall("c", "f")
    call.add([{"jsonPath": "$.a", "stringValue": "x"}, {"jsonPath": "$.a.b", "numberValue": 1}])
    assert call.arguments == {"a": {"b": 1}}


def test_pieces_that_say_nothing_are_nothing() -> None:
    """A path without a value, and values that are not pieces."""
    call = PartialCall("c", "f")
    call.add([{"jsonPath": "$.a"}, 1, {"jsonPath": "$.b", "boolValue": True}])
    assert call.arguments == {"b": True}


def test_there_is_an_end_to_them() -> None:
    """They are kept until the call is complete."""
    call = PartialCall("c", "f")
    call.add([{"jsonPath": "$.a", "stringValue": "x" * (ARGUMENT_BYTES - 3)}])
    with pytest.raises(Undecodable, match="arguments of a call"):
        call.add([{"jsonPath": "$.b", "boolValue": True}])


def test_an_index_makes_no_room_for_what_never_comes() -> None:
    """A list grows with what is in it; items may come a little out of order."""
    call = PartialCall("c", "f")
    call.add([{"jsonPath": "$.a[2]", "boolValue": True}, {"jsonPath": "$.a[0]", "boolValue": False}])
    assert call.arguments == {"a": [False, None, True]}
    call.add([{"jsonPath": f"$.a[{3 + AHEAD}]", "boolValue": True}])
    with pytest.raises(Undecodable, match="list"):
        call.add([{"jsonPath": f"$.a[{5 + 2 * AHEAD}]", "boolValue": True}])


def test_paths_count_too() -> None:
    """What stands in a path is kept as keys and lists."""
    call = PartialCall("c", "f")
    with pytest.raises(Undecodable, match="arguments of a call"):
        call.add([{"jsonPath": f"$.{'k' * ARGUMENT_BYTES}", "boolValue": True}])
