"""Elements, axes and colours of plots."""

import re
from itertools import pairwise

import pytest

from tests.support.drawings import SVG, drawn, of_kind, points, texts
from tokenmill.gen.svg import DARK, LIGHT, Scheme, document, legend, linear, logarithmic, mark, path, rect, text, ticks

ODD = "a < b & \"c\" > 'd' ]]> \N{GREEK SMALL LETTER MU}s"


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """From 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK])
def test_colours_can_be_seen(scheme: Scheme) -> None:
    """Texts have a contrast of at least 4.5 to the background, bars and lines one of 3; no two series are alike."""
    assert contrast(scheme.text, scheme.background) >= 4.5
    assert min(contrast(colour, scheme.background) for colour in scheme.series) >= 3
    assert len(set(scheme.series)) == len(LIGHT.series) == len(DARK.series)


def test_a_document_is_what_the_browser_prefers() -> None:
    """Light, and dark where that is asked for; the background is as large as the picture."""
    root = drawn(document("title", "words", 100, []))
    style = root.findtext(f"{SVG}style") or ""
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    for scheme, rules in ((LIGHT, light), (DARK, dark)):
        colours = re.findall(r"#[0-9a-f]{6}", rules)
        assert set(colours) == {scheme.background, scheme.text, scheme.grid, *scheme.series}
    (background,) = of_kind(root, "background")
    assert (background.get("width"), background.get("height")) == (root.get("width"), root.get("height"))
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"


def test_a_document_is_read_out() -> None:
    """By its title and its words, to which the picture refers."""
    root = drawn(document("title", "words", 100, []))
    assert root.get("role") == "img"
    by_id = {element.get("id"): element.text for element in root if element.get("id")}
    assert [by_id[name] for name in root.attrib["aria-labelledby"].split()] == ["title", "words"]
    assert (root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc")) == ("title", "words")


def test_texts_are_escaped() -> None:
    """Whatever characters they hold."""
    root = drawn(document(ODD, ODD, 100, [text(0, 0, ODD), *legend([ODD], ODD)]))
    assert texts(root) == [ODD] * 4
    assert (root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc")) == (ODD, ODD)


def test_elements_have_a_tenth_of_a_pixel() -> None:
    """More would differ between machines."""
    assert 'x="0.3" y="1" width="2" height="3"' in rect(0.1 + 0.2, 1.0, 2.04, 2.96, "bar")
    assert 'points="0.3,1 1200,2.5"' in path([(0.1 + 0.2, 1), (1200, 2.5)], "line")


def test_a_mark_stands_out() -> None:
    """By a broader line of the background's colour, below it."""
    below, above = (drawn(line) for line in mark((1, 2), (1, 8)))
    assert points(below) == points(above) == [(1, 2), (1, 8)]
    assert float(below.attrib["stroke-width"]) > float(above.attrib["stroke-width"])
    assert (below.get("class"), above.get("class")) == ("background", "mark")


def test_names_of_a_legend_do_not_touch() -> None:
    """Each has its colour before it, and ends before the next one."""
    root = drawn(document("title", "words", 100, legend(["a long name", "b", "c"], "budget")))
    places = [float(element.attrib["x"]) for element in of_kind(root, "label")]
    assert texts(root) == ["title", "a long name", "b", "c", "budget"]
    assert all(
        one + 6 * len(name) < other for (one, other), name in zip(pairwise(places), texts(root)[1:], strict=False)
    )
    for number in range(3):
        (swatch,) = of_kind(root, f"series{number}")
        assert 0 < places[number] - float(swatch.attrib["x"]) < 24


def test_axes_have_their_ends_where_they_are_told() -> None:
    """A linear one begins with 0; a logarithmic one goes on as far for each power."""
    axis = linear(50, 100, 200)
    assert [axis(0), axis(25), axis(50)] == [100, 150, 200]
    axis = logarithmic(10, 1_000, 100, 200)
    assert [axis(10), axis(100), axis(1_000)] == pytest.approx([100, 150, 200])


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (0.9, [0, 0.2, 0.4, 0.6, 0.8]),
        (6, [0, 1, 2, 3, 4, 5, 6]),
        (143.2, [0, 50, 100]),
        (598, [0, 100, 200, 300, 400, 500]),
        (280_702, [0, 50_000, 100_000, 150_000, 200_000, 250_000]),
    ],
)
def test_ticks_are_round_numbers(most: float, expected: list[float]) -> None:
    """Some, up to the highest number."""
    assert ticks(most) == pytest.approx(expected)
