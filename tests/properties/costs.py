"""Long and monotonous texts: what they cost grows as they do, and no faster.

1. A text is two patterns again and again, in front of them the beginning of an answer, behind them its rest, or
   something that spoils it. Patterns are what the format and the languages in calls are made of: whatever looks back,
   begins from the front again or tries all ways to divide what stands side by side meets what it can't bear.
2. It is read at two lengths, whole and in pieces, and what comes of it is written in a dialect; or one of the readers
   of complete values reads it. The text of a whole call reaches those seldom.
3. Processor time at the two lengths is compared. What seems too slow is read again, several times, and the least time
   counts; and where that is little, at a length beyond. So a noisy machine makes nothing slow.
"""

import gc
import random
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from tests.properties.fragments import JSON, PYTHON, TEXT, XML, answers_of, pieces_of
from tests.properties.rendering import render
from tests.properties.soup import TOOLS
from tokenmill.dialects import DIALECTS
from tokenmill.formats import FORMATS
from tokenmill.limits import KIB, Limits
from tokenmill.parser import Format, Grammar, MessageParser, read_options
from tokenmill.parser.values.coerce import coerce
from tokenmill.parser.values.markup import read_markup, unescaped_markup
from tokenmill.parser.values.python import decode_certain, decode_python, read_value
from tokenmill.parser.values.repair import decode_json, decode_string
from tokenmill.parser.values.schema import NO_SHAPE
from tokenmill.systems.ai_sdk.json_mix import read_unescaped
from tokenmill.systems.autobyteus.autobyteus_json import PROFILES
from tokenmill.systems.autobyteus.autobyteus_xml import arguments_of

SHORT, TIMES = 12_000, 4
"""Characters of a text, and how much longer it is the second time."""

GROWTH = 1.75 * TIMES
"""At most, of the time from one length to the other. Where it grows with the square it is sixteen."""

FLOOR_S = 0.025
"""Below it a time says nothing: 48,000 characters take less where each chunk is read with care."""

SURE_S = 0.25
"""From this time on that it takes, a text at the second length need not be made longer once more to be sure."""

RUNS = 5
"""Of a text that seems slow, to be sure."""

PIECE = 4
"""Characters of a chunk, as of a token."""

SPACE = (" ", "\n", "\t", "\r\n", "\u00a0", " \n", "    ")
SIGNS = tuple("\"'\\<>{}[](),;:=&#-+_./ 09aur\n\t")
SPOILS = ("", "", "x", "\\", ")", "}", "]", ">", '"', "'")
"""What stands behind the patterns."""


class Text(NamedTuple):
    """A text of any length."""

    lead: str
    first: str
    second: str
    mixed: bool
    """The patterns take turns; otherwise one comes after the other."""
    rest: str

    def of(self, size: int) -> str:
        """The text with about so many characters of patterns."""
        if self.mixed:
            both = self.first + self.second
            return self.lead + both * (size // len(both)) + self.rest
        halves = (pattern * (size // 2 // len(pattern)) for pattern in (self.first, self.second))
        return self.lead + "".join(halves) + self.rest


Work = Callable[[str], Any]
"""What is done with a text."""


def cost_problem(seed: int) -> str | None:
    """What grows faster than the text of this seed, and which that is; None if nothing does."""
    dice = random.Random(f"cost {seed}")
    if dice.random() < READERS_SHARE:
        name = dice.choice(sorted(READERS))
        text = _text(dice, (), (*LEADS, ""))
        works: dict[str, Work] = {name: READERS[name]}
    else:
        format_ = FORMATS[seed % len(FORMATS)]
        text = _text(dice, pieces_of(format_), (format_.sample, *answers_of(format_.name)))
        grammar, dialect = _grammar(dice, format_), dice.choice(DIALECTS)
        works = {
            f"{format_.name}, whole": lambda text: render(dialect, grammar, parsed(grammar, text, len(text))),
            f"{format_.name}, in pieces": lambda text: render(dialect, grammar, parsed(grammar, text, PIECE)),
        }
    for name, work in works.items():
        if slow := growth_problem(work, text):
            return f"{name}: {slow}: {text!r}"
    return None


def growth_problem(work: Work, text: Text, shortest: int = SHORT) -> str | None:
    """How the work grows, if it grows faster than the text."""
    short, long = text.of(shortest), text.of(shortest * TIMES)
    if _is_linear(seconds(work, short), seconds(work, long)):
        return None
    few, many = (min(seconds(work, each) for _ in range(RUNS)) for each in (short, long))
    if _is_linear(few, many):
        return None
    if many < SURE_S:  # what a longer text takes is not mistaken for what the machine does besides
        short, long = long, text.of(shortest * TIMES**2)
        few, many = (min(seconds(work, each) for _ in range(RUNS)) for each in (short, long))
        if _is_linear(few, many):
            return None
    return f"{few * 1000:.0f} ms for {len(short):,} characters, {many * 1000:.0f} ms for {len(long):,}"


def parsed(grammar: Grammar, text: str, size: int) -> list[Any]:
    """The events of a message in chunks of this size."""
    parser, events = MessageParser.of(grammar, "identity"), []
    for at in range(0, len(text), size):
        events += parser.feed(text[at : at + size])
    return events + parser.finish("stop")


def _is_linear(few: float, many: float) -> bool:
    return many <= max(FLOOR_S, GROWTH * few)


def seconds(work: Work, text: str) -> float:
    """Processor time of some work, which nothing interrupts."""
    gc.disable()  # it looks through all objects now and then, whoever made them
    begun = time.process_time()
    try:
        work(text)
        return time.process_time() - begun
    finally:
        gc.enable()


def _text(dice: random.Random, pieces: Sequence[str], answers: Sequence[str]) -> Text:
    answer = dice.choice((answers[0], dice.choice(answers)))[:2_000]
    seams = [found.end() for found in re.finditer(r"[^\w\s]", answer)]
    at = dice.choice((0, dice.randint(0, len(answer)), dice.choice(seams or [0])))
    first = _pattern(dice, pieces, answer)
    second = first if dice.random() < 0.3 else _pattern(dice, pieces, answer)
    rest = dice.choice(SPOILS) + dice.choice(("", answer[at:]))
    return Text(answer[:at], first, second, dice.random() < 0.5, rest)


def _pattern(dice: random.Random, pieces: Sequence[str], answer: str) -> str:
    if dice.random() < 0.15:
        at = dice.randint(0, len(answer))
        return answer[at : at + dice.choice((1, 2, 3, 8, 30))] or " "
    sources = (pieces or SIGNS, SIGNS, SPACE, JSON, PYTHON, XML, TEXT)
    return dice.choice(dice.choices(sources, (6, 6, 5, 4, 3, 3, 3))[0]) or " "


def _grammar(dice: random.Random, format_: Format) -> Grammar:
    """A format under some options; the tool of the samples takes values of some types."""
    types = ("string", "integer", "number", "boolean", "array", "object", "null")
    properties = {name: {"type": dice.sample(types, dice.choice((1, 1, 2)))} for name in ("city", "days")}
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": {"properties": properties}}}
    options = {
        "format": format_.name,
        "tools": dice.choice(([], [tool], [tool, *TOOLS])),
        "content_arguments": dice.choice(([], ["*"])),
        "text_mode": dice.choice(("immediate", "immediate", "smart")),
    }
    read = read_options(options)
    configured = format_.configured(format_, read) if format_.configured else format_
    return Grammar(read, [configured], Limits(call_chars=dice.choice((1_000, 256 * KIB))))


def _refusing(reader: Work) -> Work:
    """A reader that may refuse what it gets."""

    def work(text: str) -> None:
        with suppress(ValueError):
            reader(text)

    return work


READERS_SHARE = 0.4
"""Of the texts: a reader takes a tenth of the time that a format takes."""

LEADS = (
    *("[", "{", '"', "'", '{"a": ', '{"a": "', "[f(a=", "r'", "<a>", "<a b=", "-"),
    *('{"name": "f", "arguments": {"a": "', '[{"name": "', '{"tool": {"function": '),
)

READERS: dict[str, Work] = {
    **{f"a value as {kind}": partial(coerce, types={kind}) for kind in ("integer", "number", "object", "array")},
    **{f"a call's head as {name} has it": profile.head.match for name, profile in PROFILES.items()},
    "JSON": _refusing(decode_json),
    "JSON with words": _refusing(partial(decode_json, words=True)),
    "JSON with quotes in strings": _refusing(read_unescaped),
    "a string of JSON": decode_string,
    "a value in Python": _refusing(read_value),
    "a string in Python": decode_python,
    "the beginning of a string in Python": decode_certain,
    "markup": _refusing(read_markup),
    "entities": unescaped_markup,
    "elements": _refusing(lambda text: arguments_of(text, NO_SHAPE)),
}
"""What reads complete values, by name."""
