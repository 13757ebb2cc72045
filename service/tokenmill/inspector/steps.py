"""What the parser makes of a text or a captured stream, piece by piece.

1. The events are those of a worker; each comes with the characters of the source that made it (`ranges`).
2. A captured stream is read by its codec. The source is what its chunks bring, in their order: text, reasoning that the
   provider separated, deltas of calls as JSON. Of several choices it is one.
3. The source begins with what the format says that the prompt ends with, where the parser reads that first.
4. One message is shown, the first that begins. It ends where a worker ends it; what is of another one, or comes behind
   the end, is told beside it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from tokenmill.codecs import Chunk, cut_anywhere, find_codec
from tokenmill.dialects import Renderer, find_dialect
from tokenmill.dialects.native import NATIVE
from tokenmill.errors import BadOpen, RecordError
from tokenmill.events import AnyEvent
from tokenmill.formats import compile_grammar
from tokenmill.inspector.watched import Step, WatchedParser
from tokenmill.limits import MIB, NAME_CHARS
from tokenmill.parser import Options, read_options
from tokenmill.partition.identity import choice_index, has_content, opens
from tokenmill.records import InputRecord

SOURCE_CHARS = 4 * MIB
"""As long as a message may be by default: what is shown is made in one go."""

STEPS = 200_000
"""Pieces of one text: a megabyte of short tokens."""


class ParseRequest(msgspec.Struct, forbid_unknown_fields=True):
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


class ParsedSteps(msgspec.Struct):
    """All of it."""

    prompt: int
    """Characters of the source that are the prompt's."""
    steps: list[Step]
    rejected: list[str]
    """Records that can't be read, or are none of the message that is shown, and why."""

    @property
    def source(self) -> str:
        """All that was read."""
        return "".join(step.source for step in self.steps)


def parse_in_steps(asked: ParseRequest) -> ParsedSteps:
    """Parse it. Raises `BadOpen` and `ConfigError` for what can't be had, with words for whoever asked."""
    stepper = Stepper(asked)
    steps = [step for chunk in stepper.chunks() for step in stepper.take(chunk)]
    return ParsedSteps(stepper.prompt, [*steps, *stepper.finish()], stepper.rejected)


class Stepper:
    """Parses what is asked about, and notes each step."""

    def __init__(self, asked: ParseRequest) -> None:
        self._asked = asked
        self._steps = list[Step]()
        self._parser = self._of({})
        dialect = find_dialect(asked.dialect)
        self._renderer = None if dialect is NATIVE else Renderer(dialect)
        self._seq = 0
        self._begun = False
        self._message_id: str | None = None
        """Of the message that has begun; None: an unnamed one."""
        self._reason: str | None = None
        self._stop_sequence: str | None = None
        """As the stream says it."""
        self._usage: Mapping[str, Any] | None = None
        self.rejected: list[str] = []

    @property
    def prompt(self) -> int:
        """Characters of the source that are the prompt's."""
        return len(self._parser.grammar.prompt)

    def chunks(self) -> Iterator[Chunk]:
        """What is asked about, in its pieces."""
        asked = self._asked
        if not asked.records:
            yield from (Chunk(delta=piece) for piece in pieces(asked))
            return
        for where, chunk in self._decoded():
            whole = chunk.control is not None and not isinstance(chunk.choice, int)
            if (whole or choice_index(chunk) == asked.choice) and self._is_shown(chunk, where):
                yield chunk

    def _decoded(self) -> Iterator[tuple[str, Chunk]]:
        """The chunks of a captured stream, and where in it each is."""
        asked = self._asked
        codec, state = find_codec(asked.codec), b""
        raw = cut_anywhere(codec)
        lines = asked.records.encode(errors="replace").splitlines(keepends=raw)  # as bytes: Unicode has more ends
        values = [line for line in lines if raw or line.strip()]
        for number, value in enumerate([*values, None], 1):
            if value is None and not state:
                break  # the codec waits for nothing
            where = "at the end" if value is None else f"record {number}"
            try:
                state, found = codec.decode(state, InputRecord("tokens", 0, number, 0, b"inspect", value))
            except RecordError as problem:
                self.rejected.append(f"{where}: {problem}")
                continue
            yield from ((where, chunk) for chunk in found)

    def _is_shown(self, chunk: Chunk, where: str) -> bool:
        """Whether a chunk is of the message that is shown; of those behind its beginning it is told which are not."""
        message_id = chunk.message_id or None
        if not self._begun:
            self._begun, self._message_id = opens(chunk) or has_content(chunk), message_id
            return self._begun
        if message_id != self._message_id:
            named = "an unnamed one" if message_id is None else repr(message_id[:NAME_CHARS])
            self.rejected.append(f"{where}: it is of another message, {named}")
            return False
        if self._parser.state.finished:
            self.rejected.append(f"{where}: the message had ended")
            return False
        return True

    def _of(self, opened: Mapping[str, Any]) -> WatchedParser:
        """A parser with the options that are asked for, and over them those with which a message was opened."""
        grammar = compile_grammar(self._asked.options(opened), traced=True)
        return WatchedParser.of(grammar, "inspect").watch(self._steps.append)

    def take(self, chunk: Chunk) -> Iterator[Step]:
        """What a chunk does, in the order of the contract."""
        if chunk.open and not self._parser.here:
            self._parser = self._of(chunk.open)
        parser = self._parser
        if chunk.reasoning:
            parser.reasoning(chunk.reasoning)
        if chunk.delta:
            parser.feed(chunk.delta)
        if chunk.tool_calls:
            parser.tool_calls(chunk.tool_calls)
        if (part := chunk.part) is not None:
            parser.part(part.kind, part.value, part.id)
        if chunk.error is not None:
            status, raw = chunk.error_status, chunk.error_raw
            parser.fail(chunk.error, UNSET if status is None else status, UNSET if raw is None else raw)
        self._usage = chunk.usage or self._usage
        if chunk.finish_reason:
            self._reason, self._stop_sequence = chunk.finish_reason, chunk.stop_sequence
        if chunk.control is not None:
            parser.finish("timeout" if chunk.control == "timeout" else "cancelled", self._usage)
        elif chunk.end is True:
            parser.finish(self._reason, self._usage, self._stop_sequence)
        yield from self._taken()

    def finish(self) -> Iterator[Step]:
        """The end, as it was asked for where the stream has none."""
        if not self._parser.state.finished:
            self._parser.finish(self._reason or self._asked.finish, self._usage, self._stop_sequence)
        yield from self._taken()

    def _taken(self) -> Iterator[Step]:
        for step in self._steps:
            for each in step.made:
                each.payloads = self._payloads(each.event)
            yield step
        self._steps.clear()

    def _payloads(self, event: AnyEvent) -> list[str]:
        """What the dialect makes of an event."""
        self._seq += 1
        if self._renderer is None:
            return []
        named = msgspec.structs.replace(
            event, conversation_id="inspect", message_id="inspect", seq=self._seq - 1, time=0
        )
        return [payload.decode(errors="replace") for payload in self._renderer.render(named)]


def pieces(asked: ParseRequest) -> Iterator[str]:
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
