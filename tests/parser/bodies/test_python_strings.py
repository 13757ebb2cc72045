"""String literals of Python: where they end, and what their escapes stand for."""

import pytest

from tokenmill.parser.bodies.python_strings import Endings, decode_certain, decode_python


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
