"""Random answers in mixtures of formats: several live at once, all options at random, spliced from good answers.

1. As in `soup`, everything is drawn from a seed, and the seeds of one block share a setting.
2. Good answers are those of the project and, where they are, the cases of other projects and what models' own chat
   templates render. Where these are not there a seed is another stream; `where_from` says it.
3. Halves of surrogate pairs stand side by side more often than chance has it, in either order.
"""

import random
from functools import cache
from typing import Any, NamedTuple

from tests.conformance.own_cases import own_cases
from tests.conformance.shared_cases import folder, known_cases
from tests.properties.fragments import HALVES, answers_of
from tests.properties.soup import (
    LIMITS,
    OPTIONS,
    TOOLS,
    Setting,
    Stream,
    inserted,
    piece_of,
    setting_for,
    spoiled,
    with_beside,
)
from tokenmill.formats import FORMATS
from tokenmill.limits import Limits
from tokenmill.parser import Format
from tokenmill.parser.options import FORMATS_AT_ONCE

CHANCES = (0.05, 0.2, 0.5, 0.9)
"""How likely each option is to be set, and each cap: one for a whole setting, so that some have all of them."""

WIDER: dict[str, tuple[Any, ...]] = {
    "max_buffer_chars": (0, 1, 2, 3, 7, 10, 30, 200, 4096),
    "min_delta_chars": (0, 1, 2, 9, 40, 200),
    "content_arguments": (["*"], ["*"], ["f.b"], ["f.b", "g.n", "get_weather.city"]),
    "tool_choice": ("auto", "auto", "none", "required", {"name": "f"}),
    "call_chars": (1, 7, 20, 60, 120, 400, 1200),
    "message_chars": (1, 15, 80, 150, 500, 2000),
    "calls": (0, 1, 2, 4),
    "delta_chars": (1, 2, 7, 64),
}
"""What is drawn in place of what `soup` draws."""

PAIRS = tuple(one + other for one in HALVES for other in HALVES)

BLOCK = 256
"""Seeds that share a setting: one of several formats takes longer to compile than those of `soup`."""

SPLICE = 200
"""Characters of one good answer at most."""

_kept: dict[int, Setting] = {}


def mixture_setting_of(seed: int) -> Setting:
    """The formats, options and caps of this seed."""
    block = seed // BLOCK
    if block not in _kept:
        _kept.clear()
        formats, options, limits = drawn(block)
        _kept[block] = setting_for(formats, options, Limits(**limits), _answers)
    return _kept[block]


def mixture_of(seed: int) -> Stream:
    """The answer of this seed."""
    dice = random.Random(f"mixture {seed}")
    text = _spliced(dice, mixture_setting_of(seed))
    for _ in range(dice.choice((0, 0, 0, 1, 2, 4))):
        text = inserted(dice, text, dice.choice(HALVES + PAIRS))
    if dice.random() < 0.1:
        text += dice.choice(HALVES + PAIRS)
    return with_beside(dice, text)


def where_from() -> str:
    """What the streams are spliced from, for who reads a report."""
    found = folder()
    return (
        f"own cases and those in {found.parent}" if found else "own cases alone: there are none of other projects here"
    )


@cache
def _answers(name: str) -> tuple[str, ...]:
    return (*answers_of(name), *(case["text"] for case in known_cases(name)))


@cache
def _tool_lists(name: str) -> tuple[list[dict[str, Any]], ...]:
    known = [case.tools for case in own_cases(name)] + [case.get("tools") for case in known_cases(name)]
    return tuple(tools for tools in known if tools)


class Drawn(NamedTuple):
    """What a setting is compiled from."""

    formats: list[Format]
    options: dict[str, Any]
    limits: dict[str, Any]


def drawn(block: int) -> Drawn:
    """The formats, options and caps of a block's seeds."""
    dice = random.Random(f"mixture setting {block}")
    others = dice.choice((0, 1, 1, 1, 1, 2, 2, 3, FORMATS_AT_ONCE - 1))
    first = FORMATS[block % len(FORMATS)]
    formats = [first, *(other for other in dice.sample(FORMATS, others) if other is not first)]
    dice.shuffle(formats)
    options = _some(dice, OPTIONS)
    options["tools"] = _tools(dice, formats)
    return Drawn(formats, options, _some(dice, LIMITS))


def _some(dice: random.Random, values: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
    chance = dice.choice(CHANCES)
    return {name: dice.choice(WIDER.get(name, some)) for name, some in values.items() if dice.random() < chance}


def _tools(dice: random.Random, formats: list[Format]) -> list[dict[str, Any]]:
    known = _tool_lists(dice.choice(formats).name)
    return dice.choice(([], TOOLS, dice.choice(known or (TOOLS,))))


def _spliced(dice: random.Random, setting: Setting) -> str:
    """Good answers of all formats one behind the other, some cut, some spoiled, with something between them."""
    parts: list[str] = []
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3))):
        answer = dice.choice(setting.answers)
        begin = dice.choice((0, 0, 0, dice.randint(0, len(answer))))
        answer = answer[begin : begin + dice.choice((SPLICE, SPLICE, dice.randint(1, SPLICE)))]
        parts += (spoiled(dice, setting, answer) if dice.random() < 0.4 else answer, *_between(dice, setting))
    return "".join(parts)


def _between(dice: random.Random, setting: Setting) -> list[str]:
    return [piece_of(dice, setting) for _ in range(dice.choice((0, 0, 1, 3)))]
