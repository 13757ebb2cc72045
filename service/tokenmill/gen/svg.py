"""The elements of plots: an SVG's shapes, axes and colours. The same figures make the same text.

A page shows a plot as an image, which the page's style does not reach. So a plot has its own background and colours:
those of `LIGHT` or of `DARK`, as the reader's browser prefers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from math import floor, log10
from typing import NamedTuple


class Figure(NamedTuple):
    """A number, and how its table writes it."""

    number: float
    shown: str


class Scheme(NamedTuple):
    """Colours: a text has 4.5 times the contrast of the background, a bar or a line 3 times."""

    background: str
    text: str
    grid: str
    series: tuple[str, ...]


LIGHT = Scheme("#ffffff", "#1f2328", "#d1d9e0", ("#3d8bd9", "#14467f", "#c9741a", "#7d3606"))
DARK = Scheme("#0d1117", "#e6edf3", "#3d444d", ("#3d84cf", "#a8d3ff", "#c97423", "#ffd2a3"))

WIDTH, EDGE, GAP = 860, 16, 8

TOP = 72
"""Top of the drawing, below the title and the legend."""

FOOT = 28
"""Height of the axis labels."""

SWATCH = 12

LETTER = 6.6
"""Estimated width of a letter: the font is the reader's."""

TICKS = 6
"""Maximum number of ticks on an axis."""

Axis = Callable[[float], float]


def document(title: str, words: str, bottom: float, elements: Iterable[str]) -> str:
    """Return a picture whose axis is at `bottom`; `words` are its description for screen readers."""
    height = _number(bottom + FOOT)
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title words">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="words">{escape(words)}</desc>',
        f"<style>{_style(LIGHT)} @media (prefers-color-scheme: dark) {{{_style(DARK)} }}</style>",
        rect(0, 0, WIDTH, bottom + FOOT, "background"),
        text(EDGE, 26, title, kind="title"),
        *elements,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _style(scheme: Scheme) -> str:
    colours = {"background": scheme.background, "grid": scheme.grid}
    colours |= {f"series{number}": colour for number, colour in enumerate(scheme.series)}
    return "".join(
        [
            f" svg {{ color: {scheme.text}; font: 12px system-ui, sans-serif }}",
            " .title { font: 600 15px system-ui, sans-serif }",
            f" .label {{ paint-order: stroke; stroke: {scheme.background}; stroke-width: 3px }}",
            *(f" .{name} {{ color: {colour} }}" for name, colour in colours.items()),
        ]
    )


def rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Return a filled box."""
    place = f'x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}"'
    return f'<rect class="{kind}" {place} fill="currentColor"/>'


def text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "label") -> str:
    """Return words on the line `y` that begin, end or are centred at `x`."""
    place = f'x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place} fill="currentColor">{escape(words)}</text>'


def path(points: Sequence[tuple[float, float]], kind: str, width: float = 1) -> str:
    """Return a line through points."""
    through = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
    return f'<polyline class="{kind}" points="{through}" fill="none" stroke="currentColor" stroke-width="{width:g}"/>'


def mark(one: tuple[float, float], other: tuple[float, float]) -> Iterator[str]:
    """Return a straight line that stands out from what it covers."""
    yield path([one, other], "background", 4)
    yield path([one, other], "mark", 2)


def legend(series: Sequence[str], marked: str = "") -> Iterator[str]:
    """Return the legend of the colours, and of an upright mark."""
    x = float(EDGE)
    for number, name in enumerate(series):
        yield rect(x, 42, SWATCH, SWATCH, f"series{number}")
        yield text(x + SWATCH + GAP, 52, name)
        x += SWATCH + GAP + wide(name) + 2 * GAP
    if marked:
        yield from mark((x, 41), (x, 55))
        yield text(x + GAP, 52, marked)


def wide(words: str) -> float:
    """Return the approximate width of words."""
    return len(words) * LETTER


def linear(most: float, start: float, end: float) -> Axis:
    """Return a number's position between `start`, which is 0, and `end`."""
    return lambda number: start + (end - start) * number / most


def logarithmic(least: float, most: float, start: float, end: float) -> Axis:
    """Return a number's position on a logarithmic scale."""
    return lambda number: start + (end - start) * log10(number / least) / log10(most / least)


def ticks(most: float) -> list[float]:
    """Return round numbers from 0 to at most `most`."""
    power = 10.0 ** floor(log10(most / TICKS))
    step = next(step for times in (1, 2, 5, 10) if (step := times * power) * TICKS >= most)
    return [number * step for number in range(floor(most / step) + 1)]


def _number(number: float) -> str:
    return f"{round(number, 1):g}"
