"""The model's part of a template's output, found by comparing renderings of conversations that differ only in it.

1. Where the rendering begins with the prompt that asks for an answer, the rest is the answer. This does not hold for
   templates that open the reasoning in the prompt and leave it out of the history: there the answer begins where the
   rendering differs from that of an answer in plain words.
2. An answer in plain words ends with the end of a turn; where the calls end with the same text, it is left out.
"""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import msgspec

from tokenmill.templates.probes import Probe
from tokenmill.templates.rendering import NO_TOKENS

WORDS = "Let me look."
"""The model's words before its calls."""

MARK = "§§"
"""An answer that is only this text: no template writes it by itself."""

QUESTION = "What now?"


class Shape(msgspec.Struct, frozen=True):
    """How a conversation passes calls to the template: templates differ in what they read."""

    arguments: str
    """`object`, or `text`: as JSON."""
    nested: bool
    """Whether a call is under `function`, as in OpenAI's API."""
    content: str | None
    """The words before the calls."""


SHAPES = tuple(
    Shape(arguments, nested, content)
    for nested, arguments, content in product((True, False), ("object", "text"), ("", None, WORDS))
)
"""The most common one first."""


class Answer(msgspec.Struct, frozen=True):
    """A call as the model would write it."""

    probe: Probe
    shape: Shape
    text: str
    prompted: bool
    """Whether all of it follows the prompt: what the prompt opens is open."""
    has_words: bool
    """Whether it contains the words before the calls."""


def conversations(probe: Probe, shape: Shape) -> list[dict[str, Any]]:
    """Return what is rendered for one answer: the prompt, an answer in plain words, and the calls."""
    common = {"tools": probe.tools, **NO_TOKENS}
    asked = [{"role": "user", "content": QUESTION}]
    said = {"role": "assistant", "content": MARK}
    calling = {"role": "assistant", "content": shape.content, "tool_calls": list(_calls(probe, shape))}
    return [
        {"messages": asked, "add_generation_prompt": True, **common},
        {"messages": [*asked, said], "add_generation_prompt": False, **common},
        {"messages": [*asked, calling], "add_generation_prompt": False, **common},
    ]


def _calls(probe: Probe, shape: Shape) -> Iterator[dict[str, Any]]:
    for number, (name, arguments) in enumerate(probe.calls):
        written = arguments if shape.arguments == "object" else json.dumps(arguments, ensure_ascii=False)
        function = {"name": name, "arguments": written}
        yield {
            "id": f"a1b2c3d{number:02}",
            "type": "function",
            **({"function": function} if shape.nested else function),
        }


def answer(probe: Probe, shape: Shape, prompt: str, plain: str, calling: str) -> Answer | None:
    """Return the model's part of the third rendering; None if the calls are not in it."""
    prompted = calling.startswith(prompt)
    begin = len(prompt) if prompted else _difference(plain, calling)
    text = calling[begin:].removesuffix(plain.rpartition(MARK)[2])
    if not all(name.split(".")[-1] in text for name, _ in probe.calls):
        return None
    return Answer(probe, shape, text, prompted, bool(shape.content) and WORDS in text)


def _difference(one: str, other: str) -> int:
    """Return where two renderings begin to differ, before a tag that begins the same in both."""
    same = next((at for at, (sign, its) in enumerate(zip(one, other, strict=False)) if sign != its), len(other))
    common = other[:same]
    for opening, closing in (("<", ">"), ("[", "]")):
        if common.rfind(opening) > max(common.rfind(closing), common.rfind("\n")):
            common = common[: common.rfind(opening)]
    return len(common)
