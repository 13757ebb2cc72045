"""String literals of Python: where they end, and what their escapes stand for."""

from typing import Any

import pytest

from tokenmill.parser.values.python import (
    Endings,
    content_end,
    decode_certain,
    decode_python,
    opening_quote,
    read_value,
    string_closes,
)


@pytest.mark.parametrize(
    ("behind", "around", "ends"),
    [
        (")]", "", True),
        (", b=1)", "", True),
        (" , b =", "", True),
        (" or so', b=1)", "", False),
        (", and so on", "", False),
        (", b", "", None),
        ("", "", None),
        (", 'x']", "[", True),
        (": 1}", "{", True),
        (": 1", "[", False),
        (" ", "(", None),
    ],
)
def test_a_quote_ends_its_string_if_what_follows_can_follow_one(behind: str, around: str, ends: bool | None) -> None:
    """Told as early as it is certain, by the bracket around the string."""
    assert Endings().ends(f"'{behind}", 1, around, final=False) is ends


@pytest.mark.parametrize(("separator", "ends"), [(",", False), ("\n", True)])
def test_what_stands_between_calls_decides_too(separator: str, ends: bool) -> None:
    """A new line ends a call only where calls stand on lines of their own."""
    endings = Endings("\n") if separator == "\n" else Endings()
    assert endings.ends("')\ng(1)", 1, "", final=False) is ends


@pytest.mark.parametrize(
    ("behind", "ends"),
    [
        ("); g(b=", True),
        (")g( b = ", True),
        (") \n g(); h(b=", True),
        ("); a.b-c()]", True),
        ("); g(), ", True),
        ("); g()", None),
        ("); g(b", None),
        ("); g", None),
        (") ;", None),
        ("); g(1", False),
        ("); g()'", False),
        (").g(b=", False),
        (") and g(b=", False),
        ("); g (b=", False),
        (f"); {'g' * 130}(b=", False),
        ("); " + "g(); " * 5 + "h(b=", False),
    ],
)
def test_another_call_ends_the_string_and_its_call(behind: str, ends: bool | None) -> None:
    """Whatever stands between them, but not in a string that has had a bare quote already."""
    assert Endings().ends(f"'{behind}", 1, "", final=False) is ends
    assert Endings(torn=True).ends(f"'{behind}", 1, "", final=False) is False


def test_at_the_end_everything_is_decided() -> None:
    """What is undecided in a stream is not a quote's end in the complete text."""
    assert Endings().ends("', b", 1, "", final=False) is None
    assert Endings().ends("', b", 1, "", final=True) is False
    assert Endings().ends("'); g()", 1, "", final=True) is True


def test_a_torn_string_goes_on_at_the_end_of_the_text() -> None:
    """The end of the text ends one that has had no bare quote; what must stand behind the call ends either."""
    assert Endings().ends("')", 1, "", final=True) is True
    assert Endings(torn=True).ends("')", 1, "", final=True) is False
    assert Endings(torn=True).ends("')]", 1, "", final=True) is True


@pytest.mark.parametrize(
    "text",
    [
        "'x' 'y'",
        "\"x\" 'y'",
        "'x'\n    'y'",
        "'x' + \"y\"",
        "'x'+'y'+'z'",
        "'it\\'s' r'y'",
        "'x' b'y'",
        "'x' f'y' Rb\"z\"",
        "'x' \\\n'y'",
        "'x' \\\r\n  'y'",
        "'x'  # first\n# second\n  'y'",
        "'x' +  # first\n  'y'",
        '\'x\' """y\n\'"" """ \'z\'',
        "'x' '''it's''' 'y'",
        "('x' # first\n f'y')",
        "['x' 'y']",
        "{'x' 'y': 1}",
    ],
)
def test_strings_that_python_would_join(text: str) -> None:
    """They are no one string, whose text would be another."""
    with pytest.raises(ValueError, match=r"not (one|a) string"):
        read_value(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"say ""hi"" now"', 'say ""hi"" now'),
        ("'echo 'a' 'b''", "echo 'a' 'b'"),
        ('"print("a" + "b")"', 'print("a" + "b")'),
        (r'"\"a\" \"b\""', '"a" "b"'),
        ("\"'a' 'b'\"", "'a' 'b'"),
        ("'a' # 'b'", "a' # 'b"),
        ("'a' \\ 'b'", "a' \\ 'b"),
        ("'a' bru'b'", "a' bru'b"),
    ],
)
def test_quotes_that_do_not_make_several_strings(text: str, value: str) -> None:
    """Doubled or escaped ones, and those with other text around them."""
    assert read_value(text)[0] == value


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (r"a\n\t\\\'", "a\n\t\\'"),
        (r"\x41\u00e9\U0001f600\101", "Aé😀A"),
        (r"\ud83d\ude00", "😀"),
        (r"\ud83d!", "\ufffd!"),
        (r"\U00110000", "\ufffd"),
        (r"\q\xg", r"\q\xg"),
        ("a\\\nb", "ab"),
    ],
)
def test_escapes(raw: str, text: str) -> None:
    """Python's escapes and JSON's pairs; an unknown one stands for itself, half a pair for U+FFFD.

    Whatever the cut, what is certain and the rest are the same text.
    """
    assert decode_python(raw) == text
    for cut in range(len(raw) + 1):
        certain, rest = decode_certain(raw[:cut])
        assert certain + decode_python(rest + raw[cut:]) == text


@pytest.mark.parametrize("half", ["\\", r"\x4", r"\u00e", r"\U0001f60", r"\10", r"\ud83d", r"\ud83d\u", r"\ud83d\ude0"])
def test_half_an_escape_is_not_certain(half: str) -> None:
    """It waits for its rest."""
    assert decode_certain(f"a{half}") == ("a", half)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("None", None),
        ("null", None),
        ("True", True),
        ("false", False),
        ("-1_000", -1000),
        ("0xff", 255),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("'it is'", "it is"),
        ('"""a "b" c"""', 'a "b" c'),
        (r"r'\d'", r"\d"),
        ("[1, 'a', ]", [1, "a"]),
        ("(1, 2)", [1, 2]),
        ("(1)", 1),
        ("(1,)", [1]),
        ("{1, 2}", [1, 2]),
        ("{'a': {None: 1, True: [], 2: {}}}", {"a": {"null": 1, "true": [], "2": {}}}),
        ("NaN", "NaN"),
        ("9" * 1001, "9" * 1001),
    ],
)
def test_literals(text: str, value: Any) -> None:
    """Python's, and JSON's words, also for what is not finite; integers that are too long stay text."""
    assert read_value(f" {text} ") == (value, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [("'say 'x' now'", "say 'x' now"), ("['it's', 1]", ["it's", 1]), ("'a\nb'", "a\nb"), ("007", 7)],
)
def test_what_is_meant_is_read_and_marked(text: str, value: Any) -> None:
    """Quotes that are not escaped, line ends in a string, numbers with leading zeros."""
    assert read_value(text) == (value, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f(1)",
        "1 + 1",
        "a.b",
        "1e999",
        "[-1e999]",
        "inf",
        "-inf",
        "nan",
        "'a' 'b",
        "[1 2]",
        "{'a': 1, 2}",
        "{[]: 1}",
        "__import__('os')",
        "1; 2",
    ],
)
def test_what_is_no_literal_is_refused(text: str) -> None:
    """Nothing is evaluated."""
    with pytest.raises(ValueError, match=r"."):
        read_value(text)


def test_three_quotes() -> None:
    """One kind of quote opens a string alone or as three of them; two wait."""
    found = [opening_quote(text, 0, final=False) for text in ("'x", "''", "''x", "'''", "'")]
    assert found == ["'", None, "'", "'''", None]
    assert opening_quote("''", 0, final=True) == "'"


def test_a_string_that_the_text_ends_in() -> None:
    """A bracket at the end of the text closes the call only if the string has had no bare quote before."""
    assert string_closes("'", "x')", 1, "", Endings(), final=True) is True
    assert string_closes("'", "x')", 1, "", Endings(torn=True), final=True) is False


def test_content() -> None:
    """It stops at a quote that may end it, or behind a backslash at the end of the text."""
    assert content_end("'", "ab'c", 0, escaped=False) == (2, False)
    assert content_end("'", "'b\\", 0, escaped=True) == (3, True)
    assert content_end("'''", "a'b''", 0, escaped=False) == (3, False)
