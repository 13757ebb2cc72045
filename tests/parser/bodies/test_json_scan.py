"""Following JSON without building it."""

import pytest

from tests.support.parsing import all_cuts
from tokenmill.limits import JSON_DEPTH
from tokenmill.parser.bodies.json_scan import CAPTURE_CHARS, JsonScan, Phase, Token, ends_in_escape
from tokenmill.parser.body_state import JsonState


def tokens(depth: int, chunks: list[str], watched: str = "") -> list[tuple[str, int, str]]:
    """Tokens of a text with their nesting, and the text of keys."""
    scan, state, out = JsonScan(depth, watched), JsonState(), []
    for chunk in chunks:
        position, passed = 0, -1
        while True:
            position, token = scan.step(state, chunk, position, passed)
            if token == Token.MORE:
                break
            out.append((token.name, len(state.stack), state.text if token == Token.KEY else ""))
            if token == Token.WATCHED:
                passed = position
            if token == Token.BAD:
                return out
            if token == Token.KEY:
                state.capture = False
    return out


NESTED = '{"a": {"b": [1, {"c": "}"}], "d\\u0041": "x"}, "e": [], "f": 2}'


def test_tokens_down_to_a_depth() -> None:
    """Keys and values of the outermost object; what is nested deeper is passed over."""
    assert tokens(1, [NESTED]) == [
        ("BEGIN", 0, ""),
        *[("KEY", 1, "a"), ("BEGIN", 1, ""), ("END", 1, "")],
        *[("KEY", 1, "e"), ("BEGIN", 1, ""), ("END", 1, "")],
        *[("KEY", 1, "f"), ("BEGIN", 1, ""), ("END", 1, "")],
        ("END", 0, ""),
    ]


def test_tokens_one_level_deeper() -> None:
    """With a depth of two the keys of nested objects are reported raw."""
    keys = [text for name, _, text in tokens(2, [NESTED]) if name == "KEY"]
    assert keys == ["a", "b", "d\\u0041", "e", "f"]


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("text", [NESTED, '{"a" "b", c: \'}\', , "d": {"x" 1}}', "[1, 2, [3]]"])
def test_cuts_change_nothing(text: str, depth: int) -> None:
    """The same tokens wherever the text is cut, valid or not."""
    whole = tokens(depth, [text])
    assert whole[-1] == ("END", 0, "")
    for chunks in all_cuts(text):
        assert tokens(depth, list(chunks)) == whole


def test_lenient_separators() -> None:
    """Missing colons and commas do not lose count of strings."""
    assert tokens(1, ['{"a" "}" "b" "{"}'])[-1] == ("END", 0, "")


@pytest.mark.parametrize("text", ['{"a": [}', "]", "[" * (JSON_DEPTH + 2)])
def test_what_can_not_nest(text: str) -> None:
    """A bracket that does not match and nesting without end are errors."""
    assert tokens(1, [text])[-1][0] == "BAD"


def test_watched_characters_outside_of_strings() -> None:
    """`<` in a string is content; elsewhere the caller looks at it."""
    assert [name for name, _, _ in tokens(1, ['{"a": "<", "b": <1>, "c": [<]}'], "<")].count("WATCHED") == 2


def test_a_watched_bracket_that_begins_no_marker_is_a_bracket() -> None:
    """Markers may begin with a bracket; those of the JSON still count."""
    assert tokens(1, ['{"a": [[1], {}]}'], "[")[-1] == ("END", 0, "")


def test_capture_is_bounded() -> None:
    """A key without end is not collected without end."""
    scan, state = JsonScan(1), JsonState()
    for chunk in ['{"', *["k" * 100] * 100]:
        position = 0
        while (step := scan.step(state, chunk, position))[1] != Token.MORE:
            position = step[0]
    assert CAPTURE_CHARS < len(state.text) <= CAPTURE_CHARS + 100


@pytest.mark.parametrize(
    ("text", "escaped", "expected"),
    [("ab", False, False), ("a\\", False, True), ("a\\\\", False, False), ("\\", True, False), ("a", True, False)],
)
def test_ends_in_escape(text: str, escaped: bool, expected: bool) -> None:  # parameters of the table
    """An odd number of backslashes at the end leaves an escape open."""
    assert ends_in_escape('"', text, escaped=escaped) is expected


@pytest.mark.parametrize("text", ['"k": [1, {', "x} ] ", '"\\', '"a\\"b"', "'}'", '{"a'])
def test_staying_nested_is_the_same_as_stepping(text: str) -> None:
    """The short path through deep nesting leaves the state in which the long one leaves it."""
    scan = JsonScan(0)
    states = [JsonState(stack="[[{", phase=Phase.DEEP) for _ in range(2)]
    assert scan.stays_nested(states[0], text)
    assert scan.step(states[1], text, 0)[1] == Token.MORE
    assert states[0] == states[1]


@pytest.mark.parametrize("text", ["}]]", "x}]", "<"])
def test_leaving_the_nesting_reads_nothing(text: str) -> None:
    """A chunk that leads out of the nesting, or holds a watched character, is left to the long path untouched."""
    state = JsonState(stack="[{", phase=Phase.DEEP)
    assert not JsonScan(0, "<").stays_nested(state, text)
    assert state == JsonState(stack="[{", phase=Phase.DEEP)


@pytest.mark.parametrize(
    "text",
    [
        "{// it's } a {\n'a' /**/ : /* ' } **/ [1, /* ] */ 2 // ]\n], b: 2/**/, /*/ x */c: {/*}*/}}",
        "/* { */{'a': [], b : 2, // \\\n c : {}}",
    ],
)
def test_comments_hold_nothing(text: str) -> None:
    """Quotes and brackets in comments do not count, wherever the text is cut; keys may be bare."""
    expected = [("BEGIN", 0, ""), *[(token, 1, key) for name in "abc" for token, key in _member(name)], ("END", 0, "")]
    for chunks in ([text], *all_cuts(text)):
        assert tokens(1, list(chunks)) == expected


def _member(name: str) -> list[tuple[str, str]]:
    return [("KEY", name), ("BEGIN", ""), ("END", "")]
