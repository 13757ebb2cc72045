"""What the parser makes of a text or a captured stream, piece by piece.

1. The events are those of a worker; each comes with the characters of the source that made it (`ranges`).
2. A captured stream is read by its codec. The source is what its chunks bring, in their order: text, reasoning that the
   provider separated, deltas of calls as JSON. Of several choices it is one.
3. The source begins with what the format says that the prompt ends with, where the parser reads that first.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from tokenmill.codecs import Chunk, cut_anywhere, find_codec
from tokenmill.dialects import Renderer, find_dialect
from tokenmill.dialects.native import NATIVE
from tokenmill.errors import BadOpen, RecordError
from tokenmill.events import AnyEvent, TextDelta
from tokenmill.formats import compile_grammar
from tokenmill.inspector.ranges import Made, Ranges
from tokenmill.limits import MIB
from tokenmill.parser import Options, Parser, read_options
from tokenmill.parser.repair import single_halves
from tokenmill.parser.spans import Span
from tokenmill.records import InputRecord
from tokenmill.session.identity import choice_index

SOURCE_CHARS = 4 * MIB
"""As long as a message may be by default: what is shown is made in one go."""

STEPS = 200_000
"""Pieces of one text: a megabyte of short tokens."""

Kind: TypeAlias = Literal["text", "reasoning", "tool_calls", "part", "error", "finish"]


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """What is to be parsed, and how."""

    text: str = ""
    records: str = ""
    """In place of text: a captured stream of the codec, a record a line."""
    codec: str = "native"
    choice: int = 0
    """Of a captured stream that has several."""
    format: str | list[str] = "plain"
    tools: list[dict[str, Any]] = []
    open: dict[str, Any] = {}
    """Options of the message."""
    dialect: str = "native"
    cuts: list[int] = []
    """Characters in front of which the text is cut."""
    chunk: int = 0
    """In place of cuts: pieces of so many characters; 0: one piece."""
    finish: str = "stop"

    def options(self, opened: Mapping[str, Any] | None = None) -> Options:
        """Those that are asked for, and over them those with which a message was opened. Raises `BadOpen`."""
        return read_options({"format": self.format, "tools": self.tools, **self.open, **(opened or {})})


class Step(msgspec.Struct):
    """One piece, and what it did."""

    kind: Kind
    start: int
    end: int
    """It brought `[start, end)` of the source."""
    made: list[Made]
    held: str
    """Text that can still become a marker."""
    pending: str
    """Framing that waits for the next call."""
    mode: str
    """What the parser is in, as the format's diagram calls it."""
    bytes: int
    """What it would take to save it."""


class Stepped(msgspec.Struct):
    """All of it."""

    source: str
    prompt: int
    """Characters of the source that are the prompt's."""
    steps: list[Step]
    rejected: list[str]
    """Records that can't be read, and why."""


def stepped(asked: Asked) -> Stepped:
    """Parse it. Raises `BadOpen` and `ConfigError` for what can't be had, with words for whoever asked."""
    stepper = Stepper(asked)
    steps = [step for chunk in stepper.chunks() for step in stepper.take(chunk)]
    return Stepped("".join(stepper.source), stepper.prompt, [*steps, *stepper.finish()], stepper.rejected)


class Stepper:
    """A parser that is looked at."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._parser = self._of({})
        self._ranges = Ranges()
        dialect = find_dialect(asked.dialect)
        self._renderer = None if dialect is NATIVE else Renderer(dialect)
        self._seq = 0
        self._reason: str | None = asked.finish
        self._usage: Mapping[str, Any] | None = None
        self._read = 0
        """Characters of text that the parser was given."""
        self._aside = 0
        """Characters of the source that are none of its text."""
        self.prompt = len(self._parser.grammar.prompt)
        self.source: list[str] = []
        self.rejected: list[str] = []

    def chunks(self) -> Iterator[Chunk]:
        """What is asked about, in its pieces."""
        asked = self._asked
        if not asked.records:
            yield from (Chunk(delta=piece) for piece in pieces(asked))
            return
        codec, state = find_codec(asked.codec), b""
        raw = cut_anywhere(codec)
        for number, line in enumerate(asked.records.splitlines(keepends=raw), 1):
            if not line.strip() and not raw:
                continue
            try:
                state, found = codec.decode(state, InputRecord("tokens", 0, number, 0, b"inspect", line.encode()))
            except RecordError as problem:
                self.rejected.append(f"record {number}: {problem}")
                continue
            yield from (chunk for chunk in found if choice_index(chunk) == asked.choice)

    def _of(self, opened: Mapping[str, Any]) -> Parser:
        """A parser with the options that are asked for, and over them those with which a message was opened."""
        return Parser.of(compile_grammar(self._asked.options(opened), traced=True), "inspect")

    def take(self, chunk: Chunk) -> Iterator[Step]:
        """What a chunk does, in the order of the contract."""
        if chunk.open and not self.source:
            self._parser = self._of(chunk.open)
            self.prompt = len(self._parser.grammar.prompt)
        parser = self._parser
        if chunk.reasoning:
            reasoning = single_halves(chunk.reasoning)
            yield self._beside("reasoning", reasoning, parser.reasoning(reasoning))
        if chunk.delta:
            yield self._text(single_halves(chunk.delta))
        if chunk.tool_calls:
            said = msgspec.json.encode(chunk.tool_calls).decode()
            yield self._beside("tool_calls", said, parser.tool_calls(chunk.tool_calls))
        if (part := chunk.part) is not None:
            said = msgspec.json.encode(part.value).decode()
            yield self._beside("part", said, parser.part(part.kind, part.value, part.id))
        if chunk.error is not None:
            yield self._beside("error", chunk.error, parser.fail(chunk.error))
        self._usage = chunk.usage or self._usage
        self._reason = chunk.finish_reason or self._reason

    def finish(self) -> Iterator[Step]:
        """The end."""
        if not self._parser.state.finished:
            here = self._read + self._aside
            before = self._read - len(self._parser.state.held)
            yield self._step("finish", here, here, self._placed(self._parser.finish(self._reason, self._usage), before))

    def _text(self, text: str) -> Step:
        parser = self._parser
        before = self._read - len(parser.state.held)
        events = parser.feed(text)
        new = (parser.grammar.prompt if not self._read else "") + text
        start = self._add(new)
        self._read += len(new)
        return self._step("text", start, start + len(new), self._placed(events, before))

    def _beside(self, kind: Kind, said: str, events: Sequence[AnyEvent]) -> Step:
        """Of what is no text of the model's: its events have all of it, but for the text that was held before."""
        start = self._add(said)
        end = start + len(said)
        made = list[Made]()
        for event in events:
            if isinstance(event, TextDelta | Span):
                made += self._placed([event], self._read)
            else:
                made.append(Made(event, start, end))
        self._aside += len(said)
        return self._step(kind, start, end, made)

    def _placed(self, events: Sequence[AnyEvent], before: int) -> list[Made]:
        """Events of the model's text, of which so much was read before, where they are in the source."""
        made = self._ranges.take(events, before, self._read - len(self._parser.state.held))
        for each in made:
            each.start, each.end = each.start + self._aside, each.end + self._aside
        return made

    def _add(self, text: str) -> int:
        start = self._read + self._aside
        self.source.append(text)
        return start

    def _step(self, kind: Kind, start: int, end: int, made: list[Made]) -> Step:
        for each in made:
            each.payloads = self._payloads(each.event)
        state, names = self._parser.state, self._parser.grammar.mode_names
        return Step(
            kind, start, end, made, state.held, state.pending, names[state.mode], len(self._parser.encode_state())
        )

    def _payloads(self, event: AnyEvent) -> list[str]:
        """Of the dialect."""
        self._seq += 1
        if self._renderer is None:
            return []
        named = msgspec.structs.replace(
            event, conversation_id="inspect", message_id="inspect", seq=self._seq - 1, time=0
        )
        return [payload.decode(errors="replace") for payload in self._renderer.render(named)]


def pieces(asked: Asked) -> Iterator[str]:
    """The text as it is cut. Raises `BadOpen` where that can't be."""
    text = asked.text
    if len(text) > SOURCE_CHARS:
        raise BadOpen(f"the text has {len(text)} characters; {SOURCE_CHARS} can be shown")
    size = len(text)
    cuts = (
        range(asked.chunk, size, asked.chunk) if asked.chunk > 0 else sorted({at for at in asked.cuts if 0 < at < size})
    )
    if len(cuts) > STEPS:
        raise BadOpen(f"the text would have {len(cuts) + 1} pieces; {STEPS} can be shown")
    yield from (text[start:end] for start, end in zip((0, *cuts), (*cuts, size), strict=True))
