"""Random answers for every format: marker soup, and good answers with something wrong.

1. Everything is drawn from a seed: the same number is the same stream, on every machine.
2. A *setting* (formats, options, caps) is shared by the seeds of one block, because compiling a grammar costs more than
   parsing an answer.
3. What a format is made of is found in its data: its markers, and the samples and cases that it has. So a format is
   fuzzed as soon as it is in the list.
4. Text that does not come from the model is `BESIDE`, so that it can be told from the model's.
"""

import random
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.conformance.own_cases import own_cases
from tests.properties.fragments import HALVES, JSON, PYTHON, TEXT, XML, answers_of, pieces_of, spellings
from tokenmill.formats import FORMATS
from tokenmill.limits import Limits
from tokenmill.parser import Format, Grammar, Options, read_options

BLOCK = 64
"""Seeds that share a setting."""

BESIDE = "\ue000"
"""Stands in everything that does not come from the model's text, and never in the text."""

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }
    for name, properties, required in (
        ("f", {"b": {"type": ["string", "null"]}, "n": {"type": "integer"}}, ["b"]),
        ("g", {"b": {"type": "object"}, "n": {"type": "array", "items": {"type": "number"}}}, []),
        ("unknown_", {"b": {"anyOf": [{"type": "boolean"}, {"type": "string"}]}, "n": {"enum": [1, "1"]}}, []),
    )
]

OPTIONS: dict[str, tuple[Any, ...]] = {
    "start": ("text", "reasoning", "header"),
    "parse": ("tools", "reasoning", "none"),
    "tool_choice": ("none", "required", {"name": "f"}),
    "markers_suffix": ("6124c78e",),
    "on_broken": ("drop",),
    "on_unfinished": ("drop",),
    "unknown_tool": ("call", "text", "drop"),
    "calls_in_reasoning": ("honour", "ignore"),
    "text_after_calls": ("drop",),
    "stream_tool_input": (False, True),
    "content_arguments": (["*"], ["f.b"]),
    "min_delta_chars": (3, 40),
    "text_mode": ("smart", "smart", "passthrough", "placeholder"),
    "max_buffer_chars": (0, 1, 5),
    "placeholder_text": (BESIDE, ""),
    "start_tag": ("<call>", "[[", "TOOL:", "{", "<tool_call>\n"),
    "end_tag": ("</call>", "]]", "\n", "}", "<call>"),
    "json_patterns": (['{"f"'], ['{ "name"', '[["'], ["{", "["], ['{"tool"', '{"to']),
    "json_profile": ("default", "openai", "gemini"),
    "provider": ("anthropic", "openai", "gemini", "nobody"),
    "id_prefix": ("p_",),
    "segment_end_metadata": (True,),
    "response_template": (
        {"fields": {"tool_calls": {"open": "<call>", "close": "</call>", "content": "json"}}},
        {"fields": {"thinking": {"open_pattern": "^", "close": "]]"}, "content": {"close": "<call>"}}},
    ),
    "segment_tools": ({"write_file": "f", "run_bash": "g"}, {"patch_file": "f"}),
}
LIMITS: dict[str, tuple[int, ...]] = {
    "call_chars": (1, 7, 20, 60),
    "message_chars": (1, 15, 40, 80, 150),
    "calls": (0, 1, 2),
    "delta_chars": (1, 7),
}
FINISHES = ("stop", "length", "tool_calls", "content_filter", "cancelled", "weird", None)


class Setting(NamedTuple):
    """What the streams of one block share."""

    grammar: Grammar
    pieces: tuple[str, ...]
    answers: tuple[str, ...]


class Step(NamedTuple):
    """One thing that happens: text of the model, or something beside it."""

    kind: str
    value: Any


class Stream(NamedTuple):
    """A whole answer: what happens, in order, and how it finishes."""

    steps: tuple[Step, ...]
    reason: str | None

    @property
    def text(self) -> str:
        """All that the model wrote."""
        return "".join(step.value for step in self.steps if step.kind == "feed")


def setting_of(seed: int) -> Setting:
    """The formats, options and caps of this seed."""
    return _setting(seed // BLOCK)


def stream_of(seed: int) -> Stream:
    """The answer of this seed."""
    dice = random.Random(seed)
    setting = setting_of(seed)
    text = _text(dice, setting)
    if dice.random() < 0.02:
        text = inserted(dice, text, dice.choice(HALVES))
    return with_beside(dice, text)


def with_beside(dice: random.Random, text: str) -> Stream:
    """A whole answer of this text: now and then with content beside it, and with some end."""
    steps = [Step("feed", text)]
    if dice.random() < 0.25:
        places = sorted(dice.randint(0, len(text)) for _ in range(dice.randint(1, 3)))
        pieces = [text[begin:end] for begin, end in zip([0, *places], [*places, len(text)], strict=True)]
        beside = [_beside(dice) for _ in places]
        steps = [step for piece, other in zip(pieces, [*beside, None], strict=True) for step in _both(piece, other)]
    return Stream(tuple(steps), dice.choice(FINISHES))


def _both(piece: str, other: Step | None) -> Iterator[Step]:
    yield Step("feed", piece)
    if other:
        yield other


_kept: dict[int, Setting] = {}


def _setting(block: int) -> Setting:
    if block not in _kept:
        _kept.clear()
        _kept[block] = _drawn(block)
    return _kept[block]


def _drawn(block: int) -> Setting:
    dice = random.Random(f"setting {block}")
    formats = [FORMATS[block % len(FORMATS)]]
    if dice.random() < 0.1:
        formats += dice.sample(FORMATS, dice.choice((1, 1, 2)))
    chance = dice.choice((0, 0.1, 0.25))
    options = {name: dice.choice(values) for name, values in OPTIONS.items() if dice.random() < chance}
    if dice.random() < 0.5:
        options["content_arguments"] = ["*"]
    options["tools"] = _tools(dice, formats)
    caps = dice.random() < 0.3
    limits = {name: dice.choice(values) for name, values in LIMITS.items() if caps and dice.random() < 0.5}
    return setting_for(formats, options, Limits(**limits))


def setting_for(
    formats: list[Format],
    options: dict[str, Any],
    limits: Limits,
    answers: Callable[[str], tuple[str, ...]] = answers_of,
) -> Setting:
    """What streams of these formats are made of; `answers` knows the good ones by format."""
    names = [format_.name for format_ in formats]
    read = read_options({"placeholder_text": BESIDE, "format": names if len(names) > 1 else names[0], **options})
    own = [(format_, format_.configured(format_, read) if format_.configured else format_) for format_ in formats]
    return Setting(
        Grammar(read, formats, limits, traced=True),
        tuple(
            _suffixed(piece, read) for _, configured in own for piece in (*pieces_of(configured), *read.json_patterns)
        ),
        tuple(
            _suffixed(_renamed(answer, format_, configured), read)
            for format_, configured in own
            for answer in answers(format_.name)
        ),
    )


def _renamed(text: str, format_: Format, configured: Format) -> str:
    """An answer with the markers that the options give to its format."""
    for usual, own in zip(spellings(format_), spellings(configured), strict=False):
        text = text.replace(usual, own) if usual != own else text
    return text


def _suffixed(text: str, options: Options) -> str:
    suffix = options.markers_suffix
    return re.sub(r"(?<=\w)(?=\|?>)", f":{suffix}", text) if suffix else text


def _tools(dice: random.Random, formats: list[Format]) -> list[dict[str, Any]]:
    own = [case.tools for case in own_cases(dice.choice(formats).name) if case.tools]
    return dice.choice([[], TOOLS, dice.choice(own) if own else TOOLS])


def _text(dice: random.Random, setting: Setting) -> str:
    kind = dice.random()
    if kind < 0.4:
        return _soup(dice, setting)
    answer = spoiled(dice, setting, dice.choice(setting.answers)[:600])
    if kind < 0.75:
        return answer
    return answer + (_soup(dice, setting) if kind < 0.9 else dice.choice(setting.answers)[:300])


def piece_of(dice: random.Random, setting: Setting) -> str:
    """Something that answers of these formats are made of, or the beginning of it."""
    source = dice.choices((setting.pieces, JSON, PYTHON, XML, TEXT), (10, 3, 1, 2, 3))[0]
    piece: str = dice.choice(source)
    return piece[: dice.randint(0, len(piece))] if dice.random() < 0.08 else piece


def _soup(dice: random.Random, setting: Setting) -> str:
    return "".join(piece_of(dice, setting) for _ in range(dice.randint(1, 24)))


def inserted(dice: random.Random, text: str, piece: str) -> str:
    """The text with this piece somewhere in it."""
    at = dice.randint(0, len(text))
    return text[:at] + piece + text[at:]


def spoiled(dice: random.Random, setting: Setting, text: str) -> str:
    """A good answer after up to four mistakes: something left out, doubled, put in, cut off."""
    for _ in range(dice.randint(0, 4)):
        begin = dice.randint(0, len(text))
        end = min(len(text), begin + dice.choice((1, 1, 2, 5, 20)))
        kind = dice.random()
        if kind < 0.3:
            text = text[:begin] + text[end:]
        elif kind < 0.45:
            text = text[:end] + text[begin:]
        elif kind < 0.9:
            text = text[:begin] + piece_of(dice, setting) + text[begin:]
        else:
            text = text[:begin]
    return text


def _beside(dice: random.Random) -> Step:
    kind = dice.choice(("reasoning", "part", "fail", "tool_calls", "tool_calls"))
    if kind != "tool_calls":
        return Step(kind, BESIDE)
    return Step(kind, [_delta(dice) for _ in range(dice.randint(1, 2))])


def _delta(dice: random.Random) -> dict[str, Any]:
    """One OpenAI tool-call delta, right or a little wrong."""
    begun = f'{{"{BESIDE}": '
    arguments = dice.choice((begun + "1}", begun, "1}", "}", "", None, BESIDE, begun + '"\\u'))
    delta: dict[str, Any] = {"index": dice.choice((0, 0, 1, None, "0")), "function": {"arguments": arguments}}
    if dice.random() < 0.6:
        delta["function"]["name"] = dice.choice(("f", "g", "nobody", "", 7))
    if dice.random() < 0.5:
        delta["id"] = dice.choice(("k1", "k2", "", None))
    return delta
