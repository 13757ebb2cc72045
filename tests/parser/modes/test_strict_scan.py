"""JSON followed strictly: what can't become JSON is told at its first character."""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tokenmill.limits import JSON_DEPTH
from tokenmill.parser.bodies.json_scan import CAPTURE_CHARS, Token
from tokenmill.parser.markers import TOKEN_CHARS
from tokenmill.parser.modes.strict_scan import BARE_CHARS, scan, stays_in_string
from tokenmill.parser.run.state import JsonState

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def run(text: str, size: int | None = None) -> tuple[list[tuple[int, int]], int]:
    """The tokens of a text with their positions, and where the scanner stopped; cut in chunks of `size`."""
    state, tokens, base = JsonState(), list[tuple[int, int]](), 0
    for begin in range(0, len(text), size or len(text) or 1):
        chunk, position = text[begin : begin + (size or len(text))], 0
        while True:
            position, token = scan(state, chunk, position)
            if token == Token.MORE:
                break
            tokens.append((token, begin + position))
            if token in (Token.WHOLE, Token.BAD):
                return tokens, begin + position
        base = begin + position
    return tokens, base


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4), st.sampled_from([None, 0, 2]), st.integers(1, 9))
def test_valid_json_is_whole_at_its_end(value: dict[str, object], indent: int | None, size: int) -> None:
    """And nowhere before, with one key and one value reported for each member, wherever it is cut."""
    text = json.dumps(value, indent=indent)
    tokens, stop = run(text + " {", size)
    assert stop == len(text)
    assert [token for token, _ in tokens] == [Token.KEY, Token.BEGIN, Token.END] * len(value) + [Token.WHOLE]
    assert tokens == run(text)[0]


@given(st.dictionaries(st.text(max_size=4), VALUES, min_size=1, max_size=4), st.data())
def test_what_it_lets_pass_can_still_become_json(value: dict[str, object], data: st.DataObject) -> None:
    """A character put anywhere is found, or the text is JSON with it."""
    text = json.dumps(value, ensure_ascii=False)
    assume("\\" not in text)  # escapes are the decoder's
    at = data.draw(st.integers(1, len(text)))
    wrong = text[:at] + data.draw(st.sampled_from('{}[],:"x1-.\n')) + text[at:]
    tokens, stop = run(wrong)
    if tokens and tokens[-1][0] == Token.WHOLE:
        json.loads(wrong[:stop])


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ('{"a" 1}', 5),
        ('{"a":1 "b":2}', 7),
        ('{"a":1,}', 7),
        ("{a:1}", 1),
        ("{'a':1}", 1),
        ('{"a":01}', 6),
        ('{"a":1.}', 7),
        ('{"a":.5}', 5),
        ('{"a":+1}', 5),
        ('{"a":truth}', 8),
        ('{"a":True}', 5),
        ('{"a":NaN}', 5),
        ('{"a":[1,]}', 8),
        ('{"a":[1}}', 7),
        ('{"a":{"b"}}', 9),
        ('{"a":"x\ny"}', 7),
        ('{"a":"x\\\ny"}', 8),
        ('{"a"/**/:1}', 4),
        ('{"a":1]', 6),
        ("{,}", 1),
    ],
)
@pytest.mark.parametrize("size", [None, 1, 2])
def test_what_is_no_json_is_told_where_it_stands(text: str, bad: int, size: int | None) -> None:
    """The same character, wherever the text is cut."""
    tokens, stop = run(text, size)
    assert (tokens[-1][0], stop) == (Token.BAD, bad)


@pytest.mark.parametrize("size", [None, 7])
def test_nesting_and_numbers_are_bounded(size: int | None) -> None:
    """What is deeper or longer than anything real is none."""
    deep = '{"a":' + "[" * (JSON_DEPTH - 1)
    assert run(deep, size) == ([(Token.KEY, 4), (Token.BEGIN, 5)], len(deep))
    assert run(deep + "[", size)[0][-1] == (Token.BAD, len(deep))
    assert run('{"a":' + "1" * (BARE_CHARS + 5), size)[0][-1] == (Token.BAD, 5 + BARE_CHARS)


def test_of_a_long_key_only_a_bounded_beginning_is_kept() -> None:
    """It is none that anybody asks for."""
    state = JsonState()
    for chunk in ('{"', *["k" * 100] * 100):
        scan(state, chunk, 0)
        assert len(state.text) <= CAPTURE_CHARS + 100
    assert scan(state, '":', 0) == (1, Token.KEY)


def test_more_of_a_string_is_seen_at_once() -> None:
    """If it has neither quote nor escape nor a raw control character, and nobody wants its text."""
    state = JsonState()
    for piece in ('{"a"', ":", '"', '"'):  # a key is a token, and so is the beginning of its value
        scan(state, piece, 0)
        state.capture = False
    texts = ("x y", 'x"', "x\\", "\n", '"', "\\n", "x\n", "x" * (TOKEN_CHARS + 1), "")
    assert [stays_in_string(state, text) for text in texts] == [
        True,
        False,
        True,  # half an escape, which
        False,  # no control character completes
        True,  # but a quote does
        True,
        False,
        False,
        True,
    ]
    state.capture = True
    assert not stays_in_string(state, "x")
