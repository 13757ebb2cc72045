"""Following JSON without building it."""

from collections.abc import Iterable

import pytest

from tests.support.parsing import all_cuts
from tokenmill.limits import JSON_DEPTH
from tokenmill.parser.bodies.json_scan import (
    CAPTURE_CHARS,
    JsonScan,
    Phase,
    Token,
    turned,
)
from tokenmill.parser.markers import TOKEN_CHARS, Scanner, marker
from tokenmill.parser.run.state import JsonState
from tokenmill.parser.values.repair import Spelling

Place = tuple[str, str, bool]


def scanner(depth: int, watched: str = "") -> JsonScan:
    """One whose stops are single characters."""
    return JsonScan(depth, Scanner([(marker(character), None) for character in watched]))


def moved(stack: str, quote: str, text: str, *, escaped: bool = False, depth: int = 0) -> JsonState | None:
    """The state behind a short text inside of deep nesting; None if the text is not read at once."""
    state = JsonState(stack=stack, quote=quote, escaped=escaped, phase=Phase.DEEP)
    return state if scanner(depth).stays(state, text) else None


@pytest.mark.parametrize(
    ("stack", "quote", "text", "expected"),
    [
        ("{", "", ", [{", ("{[{", "", False)),
        ("{[", "", '"]', ("{[", '"', False)),
        ("{[", "", "], [", ("{[", "", False)),
        ("{[", '"', "\", '", ("{[", "'", True)),
        ("{[", "'", '\', {"}"', ("{[{", "", False)),
        ("{[", "", "'', 1", ("{[", "", True)),
        ("{[", "", "1 /* ] */ ]", ("{", "", False)),
    ],
)
def test_move(stack: str, quote: str, text: str, expected: Place) -> None:
    """Open brackets and quote behind a chunk that is not all of one string, and whether one in single quotes begins."""
    state = moved(stack, quote, text)
    assert state is not None
    assert (state.stack, state.quote, state.spelling == Spelling.PYTHON) == expected
    assert not state.escaped


@pytest.mark.parametrize(
    ("quote", "text", "expected"),
    [('"', "a\\", True), ('"', '\\"', False), ('"', "'}", False), ("'", '"', False), ('"', "\\" * 3, True)],
)
def test_inside_of_a_string(quote: str, text: str, expected: bool) -> None:  # a parameter of the table
    """Nothing counts but escapes."""
    state = moved("{[", quote, text)
    assert state is not None
    assert (state.quote, state.escaped) == (quote, expected)


@pytest.mark.parametrize(
    ("stack", "quote", "text", "depth"),
    [
        ("{[", "", "}", 0),
        ("{", "", "}", 0),
        ("{[", "", "]}[{", 0),
        ("{[", "", "/", 0),
        ("{[{", "", "}", 2),
        ("{[", '"', '"]', 1),
        ("[" * JSON_DEPTH, "", "[]", 0),
    ],
)
def test_no_move(stack: str, quote: str, text: str, depth: int) -> None:
    """A wrong bracket, one too many even if others follow, what ends a value that is told, and too much nesting."""
    assert moved(stack, quote, text, depth=depth) is None


def test_nesting_is_followed_up_to_where_it_began() -> None:
    """And as deep as may be."""
    assert moved("{[{", "", "}", depth=1) is not None
    assert moved("[" * (JSON_DEPTH - 1), "", "[]") is not None


NAMES = {number: name for name, number in vars(Token).items() if name.isupper()}


def tokens(depth: int, chunks: list[str], watched: str = "") -> list[tuple[str, int, str]]:
    """Tokens of a text with their nesting, and the text of keys."""
    scan, state, out = scanner(depth, watched), JsonState(), []
    for chunk in chunks:
        position, passed = 0, -1
        while True:
            position, token = scan.step(state, chunk, position, passed)
            if token == Token.MORE:
                break
            out.append((NAMES[token], len(state.stack), state.text if token == Token.KEY else ""))
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


@pytest.mark.parametrize("text", ["{'", '{"a": \'', '{"a": ["b", \''])
def test_strings_are_of_python_from_the_first_in_single_quotes_on(text: str) -> None:
    """Wherever it stands, however the text is cut; not in a comment, and not where another reading is fixed."""
    scan = scanner(1)
    for chunks in all_cuts(text):
        state = JsonState()
        for chunk in chunks:
            assert state.spelling == Spelling.JSON
            if not scan.stays(state, chunk):
                position = 0
                while position < len(chunk):
                    position, _ = scan.step(state, chunk, position)
        assert state.spelling == Spelling.PYTHON
    words = JsonState(spelling=Spelling.WORDS)
    position = 0
    while position < len(text):
        position, _ = scan.step(words, text, position)
    assert words.spelling == Spelling.WORDS
    commented = JsonState()
    scan.step(commented, '{// it\'s\n"a"', 0)
    assert commented.spelling == Spelling.JSON


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
    scan, state = scanner(1), JsonState()
    for chunk in ['{"', *["k" * 100] * 100]:
        position = 0
        while (step := scan.step(state, chunk, position))[1] != Token.MORE:
            position = step[0]
    assert CAPTURE_CHARS < len(state.text) <= CAPTURE_CHARS + 100


@pytest.mark.parametrize("text", ['"k": [1, {', "x} ] ", '"\\', '"a\\"b"', "'}'", '{"a', '"\\\\"', "]],[["])
def test_staying_nested_is_the_same_as_stepping(text: str) -> None:
    """The short path through deep nesting leaves the state in which the long one leaves it."""
    scan = scanner(0)
    states = [JsonState(stack="[[[{"[: 3 + ("}" in text)], phase=Phase.DEEP) for _ in range(2)]
    assert scan.stays(states[0], text)
    assert scan.step(states[1], text, 0)[1] == Token.MORE
    assert states[0] == states[1]


@pytest.mark.parametrize("behind", [",", " :", "\n]", "]", "/**/ x", " <", "", " "])
@pytest.mark.parametrize(("depth", "phase"), [(0, Phase.DEEP), (1, Phase.VALUE)])
def test_what_may_follow_a_string(behind: str, depth: int, phase: int) -> None:
    """A separator, a bracket that closes, a comment, a stop, the end: nothing of these breaks a strict text."""
    for chunks in ([f'"a"{behind}'], *all_cuts(f'"a"{behind}')):
        assert Token.BAD not in strictly(depth, phase, chunks), chunks


@pytest.mark.parametrize("behind", ["b", ' "', " {", "\n[", "1", ";", "'"])
@pytest.mark.parametrize(("depth", "phase"), [(0, Phase.DEEP), (1, Phase.VALUE)])
def test_what_follows_no_string_breaks_a_strict_text(behind: str, depth: int, phase: int) -> None:
    """A quote is missing, or one that is content is not escaped, wherever the text is cut."""
    for chunks in ([f'"a"{behind}'], *all_cuts(f'"a"{behind}')):
        assert strictly(depth, phase, chunks)[-1] == Token.BAD, chunks


def strictly(depth: int, phase: int, chunks: Iterable[str]) -> list[int]:
    """What is told of the chunks of a strict text, which are read at once where they can be."""
    scan, state = scanner(depth, "<"), JsonState(stack="[", phase=phase, strict=True)
    told = []
    for chunk in chunks:
        position, token = (len(chunk), Token.MORE) if scan.stays(state, chunk) else scan.step(state, chunk, 0)
        told.append(token)
        while token not in (Token.MORE, Token.BAD, Token.WATCHED):
            position, token = scan.step(state, chunk, position)
            told.append(token)
        if token == Token.BAD:
            break
    return told


@pytest.mark.parametrize("text", ["abc", "a\\", "\\\\", '\\"', 'n\\"\\'])
@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize("phase", [Phase.DEEP, Phase.BEGUN])
def test_staying_in_a_string_is_the_same_as_stepping(
    text: str, escaped: bool, phase: int
) -> None:  # parameters of the table
    """Escapes are followed over chunks; a string that is a value of its own is not left."""
    scan = scanner(0)
    states = [JsonState(stack="[[", phase=phase, quote='"', escaped=escaped) for _ in range(2)]
    position, token = scan.step(states[1], text, 0)
    if scan.stays(states[0], text):
        assert (position, token) == (len(text), Token.MORE)
        assert states[0] == states[1]
    else:
        assert phase == Phase.BEGUN
        assert token == Token.END


@pytest.mark.parametrize(
    ("stack", "quote", "text"),
    [
        ("[{", "", "}]]"),
        ("[{", "", "x}]"),
        ("[[", "", "]][["),
        ("[{", "", "]"),
        ("[{", "", "<"),
        ("[{", "", "/"),
        ("[{", "", "x" * (TOKEN_CHARS + 1)),
        ("[" * (JSON_DEPTH - 1), "", "[[]"),
    ],
)
def test_what_leads_away_is_not_read(stack: str, quote: str, text: str) -> None:
    """The end of the nesting, or below it, wrong or too many brackets, stops, a slash: left to the long path."""
    state = JsonState(stack=stack, phase=Phase.DEEP, quote=quote)
    assert not scanner(1 if stack == "[[" else 0, "<").stays(state, text)
    assert state == JsonState(stack=stack, phase=Phase.DEEP, quote=quote)


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


def test_outside_of_deep_nesting_nothing_is_passed_over() -> None:
    """Where keys and values are told, only strings are read at once."""
    state = JsonState(stack="[", phase=Phase.VALUE)
    assert not scanner(1).stays(state, "{")
    assert state == JsonState(stack="[", phase=Phase.VALUE)


def _member(name: str) -> list[tuple[str, str]]:
    return [("KEY", name), ("BEGIN", ""), ("END", "")]


@pytest.mark.parametrize(
    ("stack", "bracket", "expected"),
    [
        ("[", "{", "[{"),
        ("[{", "}", "["),
        ("(", ")", ""),
        ("[{", "]", None),
        ("", "]", None),
        ("[" * (JSON_DEPTH - 1), "[", "[" * JSON_DEPTH),
        ("[" * JSON_DEPTH, "[", None),
    ],
)
def test_turning(stack: str, bracket: str, expected: str | None) -> None:
    """A bracket opens, or closes one of its kind; there are so many at most."""
    assert turned(stack, bracket) == expected
