"""Finding markers, holding back exactly what can still become one, and the enumerations of the short paths."""

from enum import Enum, IntEnum
from typing import Any

import pytest

from tokenmill.errors import BadOpen
from tokenmill.parser import markers as markers_module
from tokenmill.parser.markers import (
    ATOMS,
    INNER_CHARS,
    PATTERN_CHARS,
    SPACE_CHARS,
    SPELLED_CHARS,
    Hit,
    Scanner,
    _patterns,
    ahead,
    before,
    marker,
    plain_members,
)
from tokenmill.recent import Recent

OVERLAPPING = Scanner([(marker("<a>"), "short"), (marker("<a>b"), "long"), (marker("</ f>", spaces=True), "spaced")])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("text", None),
        ("x<b", None),
        ("x<", Hit(1, -1, None)),
        ("x<a", Hit(1, -1, None)),
        ("<<a", Hit(1, -1, None)),
        ("x<a>c", Hit(1, 4, "short")),
        ("x<a>bc", Hit(1, 5, "long")),
        ("x<  /", Hit(1, -1, None)),
        ("x< / f >y", Hit(1, 8, "spaced")),
        ("x<c<a>c", Hit(3, 6, "short")),
    ],
)
def test_find(text: str, expected: Hit[str] | None) -> None:
    """The earliest marker, the longest at its place, or what may still be one."""
    assert OVERLAPPING.find(text, 0, final=False) == expected


@pytest.mark.parametrize(("text", "end"), [("<Tool>", 6), ("<tOOL>", 6), ("<TOO", -1), ("<toolb", None)])
def test_letters_of_either_case(text: str, end: int | None) -> None:
    """A marker of any case is found, and held, however its letters are written."""
    hit = Scanner([(marker("<tool>", any_case=True), None)]).find(text, 0, final=False)
    assert (hit.end if hit else None) == end


def test_a_letter_in_front_may_be_of_either_case() -> None:
    """The first character is looked for in both."""
    scanner = Scanner([(marker("end", any_case=True), None)])
    assert scanner.find("the End", 0, final=False) == Hit(4, 7, None)


def test_a_marker_waits_while_a_longer_one_can_follow() -> None:
    """`<a>` at the end of the buffer is held; at the end of the stream it is found."""
    assert OVERLAPPING.find("x<a>", 0, final=False) == Hit(1, -1, None)
    assert OVERLAPPING.find("x<a>", 0, final=True) == Hit(1, 4, "short")


def test_nothing_is_held_at_the_end_of_the_stream() -> None:
    """Half a marker is text when nothing follows."""
    assert OVERLAPPING.find("x<a", 0, final=True) is None


@pytest.mark.parametrize(
    ("text", "final", "expected"),
    [("x<a", False, Hit(1, -1, None)), ("x<a", True, Hit(1, 3, "alone")), ("x<ab", False, None), ("x<ab", True, None)],
)
def test_a_marker_at_the_end_of_the_stream(text: str, *, final: bool, expected: Hit[str] | None) -> None:
    """One that nothing may follow is held until something does, or the stream ends."""
    assert Scanner([(marker("<a", ahead=[[r"\Z"]]), "alone")]).find(text, 0, final=final) == expected


def test_white_space_in_a_marker_is_bounded() -> None:
    """Nine spaces are no layout any more, so what is held is bounded."""
    assert OVERLAPPING.find("<" + " " * 8, 0, final=False) == Hit(0, -1, None)
    assert OVERLAPPING.find("<" + " " * 9, 0, final=False) is None


def test_leading_space_is_part_of_framing() -> None:
    """Where markers are framing, white space in front of them is, too."""
    scanner = Scanner([(marker("["), "list")], leading_space=True)
    assert scanner.at("\n [", 0, final=False) == Hit(0, 3, "list")
    assert scanner.at("\n ", 0, final=False) == Hit(0, -1, None)
    assert scanner.at("\n x", 0, final=False) is None


def test_no_markers_find_nothing() -> None:
    """A mode without markers never stops."""
    assert Scanner[str]([]).find("<a>", 0, final=False) is None


CALL = Scanner([(marker("{", ahead=[ahead('"f" : <digit>', digit=r"\d"), ahead('"g"')]), "call")])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('x{"f" :1', Hit(1, 2, "call")),
        ('x{"g"', Hit(1, 2, "call")),
        ('x{"f":', Hit(1, -1, None)),
        ("x{", Hit(1, -1, None)),
        ('x{"h', None),
        ('{{"g"', Hit(1, 2, "call")),
    ],
)
def test_a_sign_of_prose_with_enough_behind_it(text: str, expected: Hit[str] | None) -> None:
    """It is held while that can follow, found when it does, and what follows is no part of it."""
    assert CALL.find(text, 0, final=False) == expected


def test_what_must_follow_does_not_at_the_end() -> None:
    """A character with half of it behind is text when nothing comes any more."""
    assert CALL.find('x{"f":', 0, final=True) is None


def test_signs_that_vary_inside() -> None:
    """They are bounded, and nothing else may stand there."""
    scanner = Scanner([(marker("</c>", inner=r"[\d,]"), "cited")])
    assert scanner.find("</c1,2>", 0, final=False) == Hit(0, 7, "cited")
    assert scanner.find("</c1,", 0, final=False) == Hit(0, -1, None)
    assert scanner.find("</ca>", 0, final=False) is None
    assert scanner.find("</c" + "1" * (INNER_CHARS + 1), 0, final=False) is None


@pytest.mark.parametrize(
    ("text", "settled"),
    [("a b", 3), ("x<", 1), ("y< /b", 5), ("y< / ", 1), ("<b", 2), ("<a", 0), ("<a>", 0), ("x<a>c", -1), ("<b<  ", 2)],
)
def test_settled(text: str, settled: int) -> None:
    """All of it, or up to where a marker may begin; nothing is said where a whole one stands."""
    assert OVERLAPPING.settled(text) == settled


@pytest.mark.parametrize("text", ["x<< a>", "< / f", "x<a>b", "<a", "</f>", "a", "<</ f>", "<a<a>x"])
def test_settled_is_what_finding_says(text: str) -> None:
    """The short answer and the long one agree on every beginning of a text."""
    for end in range(len(text) + 1):
        hit = OVERLAPPING.find(text[:end], 0, final=False)
        expected = end if hit is None else hit.start if hit.end < 0 else -1
        assert OVERLAPPING.settled(text[:end]) == expected


def test_patterns_are_made_once() -> None:
    """Scanners of the same markers share them, and each has values of its own: many messages bring their own tools."""
    one, other = (Scanner([(marker("<a>"), value)]) for value in ("one", "other"))
    assert one.doubt == other.doubt
    found = [scanner.find("<a>", 0, final=False) for scanner in (one, other)]
    assert [hit and hit.value for hit in found] == ["one", "other"]


def test_patterns_that_are_kept_have_a_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what they weigh: the longest unused go."""
    made: Recent[Any, Any] = Recent(100, 20_000)
    monkeypatch.setattr(markers_module, "_made", made)
    for number in range(20):
        Scanner([(marker(f"<{number}{'a' * 20}>"), None)])
    assert 1 < len(made) < 20
    assert made.bytes <= 20_000


@pytest.mark.parametrize("length", [ATOMS + 1, 4_000])
def test_a_long_marker_is_refused(length: int) -> None:
    """Also one that is short, but something long must follow."""
    for mark in (marker("<" * length), before(marker("<"), [("a",) * (length - 1)])):
        with pytest.raises(BadOpen, match=f"{length} characters long, with what follows; at most {ATOMS}"):
            Scanner([(mark, None)])


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (
            [f"{'x' * 250}{number:04}" for number in range(500)],
            f"have 127000 characters together; at most {SPELLED_CHARS}",
        ),
        (
            [f"{number:04}{'x' * 250}" for number in range(100)],
            f"make patterns of 4[0-9]+ characters; at most {PATTERN_CHARS}",
        ),
    ],
    ids=["in all", "that share nothing"],
)
def test_many_long_markers_are_refused_together(names: list[str], why: str) -> None:
    """Hundreds of names of tools are markers in some formats; thousands would take seconds to compile."""
    with pytest.raises(BadOpen, match=why):
        Scanner([(marker(name), None) for name in names])


FAR = Scanner([(marker("[", ahead=[ahead(" { x")]), "list"), (marker("<a >", spaces=True), "tag")])


@pytest.mark.parametrize("space", [" ", "\n\t", "\u00a0"])
def test_white_space_between_tokens_is_any(space: str) -> None:
    """Up to a cap in each place."""
    most = space * (SPACE_CHARS // len(space))
    assert FAR.find(f"[{most}{{{most}x", 0, final=False) == Hit(0, 1, "list")
    assert FAR.find(f"[{most}{{{most}", 0, final=False) == Hit(0, -1, None)
    assert FAR.find(f"[{most}{{{most} ", 0, final=False) is None


@pytest.mark.parametrize(
    ("held", "room"),
    [
        ("[", 0),
        ("[ ", SPACE_CHARS - 1),
        ("[  {", 0),
        ("[  {\n\n\n", SPACE_CHARS - 3),
        ("[" + " " * SPACE_CHARS, 0),
        ("<a ", 0),
    ],
)
def test_how_much_white_space_need_not_be_looked_at(held: str, room: int) -> None:
    """As much as a call's tokens may have between them; a marker's words have hardly any."""
    assert FAR.room(held) == room


def test_where_white_space_leads_a_marker_there_is_room_for_more() -> None:
    """What is nothing but white space can still become framing."""
    assert Scanner([(marker("["), None)], leading_space=True).room("\n  ") == SPACE_CHARS - 3


def test_what_sequences_have_in_common_is_written_once() -> None:
    """Many long sequences that begin alike are hardly more to compile than one."""

    def written(count: int) -> int:
        sequences = [(*"<parameter name=", chr(ord("a") + number)) for number in range(count)]
        patterns = _patterns((before(marker("</parameter>"), sequences),), leading_space=False)
        searched = [method.__self__.pattern for method in (patterns.begun, patterns.doubt, patterns.space)]  # type: ignore[attr-defined] # -- of a pattern
        return sum(map(len, [patterns.full.pattern, *searched]))

    assert written(20) < 1.5 * written(1)


def test_a_marker_that_nothing_need_follow_is_one_wherever_it_stands() -> None:
    """Also where something else may follow it: a template may leave out what closes a value."""
    scanner = Scanner([(before(marker("<a>"), [(), ("<", "b", ">")]), "a")])
    assert scanner.find("x<a>y", 0, final=False) == Hit(1, 4, "a")
    assert scanner.find("x<a>", 0, final=True) == Hit(1, 4, "a")


class Fruit(Enum):
    """What grows."""

    APPLE = "red"
    PLUM = "blue"


class Size(IntEnum):
    """How large."""

    SMALL = 0
    LARGE = 1


def test_the_members_are_those_of_the_enumeration() -> None:
    """All of them, under their names, the very same objects."""
    fruit = plain_members(Fruit)
    assert (fruit.APPLE, fruit.PLUM) == (Fruit.APPLE, Fruit.PLUM)
    assert fruit.PLUM is Fruit.PLUM
    assert plain_members(Size).LARGE is Size.LARGE
    assert fruit.__doc__ == Fruit.__doc__


def test_naming_one_asks_no_metaclass() -> None:
    """That is what makes it cheap."""
    assert type(plain_members(Fruit)) is type
