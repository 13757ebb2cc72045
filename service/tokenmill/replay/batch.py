"""One line of `parse --batch`: turns a captured stream into the events of one message, the same in every run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tokenmill.codecs import Chunk, find_codec
from tokenmill.dialects import find_dialect
from tokenmill.errors import BadOpen, RecordError, TokenmillError, Undecodable
from tokenmill.parser import options_key, read_options
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output
from tokenmill.replay.functions import call_function
from tokenmill.replay.records import Json, to_bytes

CONVERSATION = "conversation"
MESSAGE = "message"

_DONE = b"[DONE]"


class _Line(msgspec.Struct):
    """The members of a line that are checked for their types. Options are checked where they are read."""

    chunks: list[Any] | None = None
    codec: str = "native"
    dialect: str = "native"
    open: dict[str, Any] | None = None


def parse_batch(line: Mapping[str, Any]) -> Json:
    """Return the answer to one line.

    It is `{"name", "events"}`, including the events of the stream's end; with `per_chunk` it has `events_per_chunk`,
    too: a list for each chunk, and one for the end. `rejected` has the errors of chunks that could not be used. A line
    with a `function` (see `functions`) is answered with `{"name", "result"}`, and one that is wrong itself with
    `{"name", "error"}`.
    """
    name = line.get("name")
    if "function" in line:
        return {"name": name, **call_function(line["function"], line.get("input"))}
    try:
        msgspec.convert(line, _Line)
        stream = Stream(line)
        per_chunk = [_feed(stream, number, chunk) for number, chunk in enumerate(line.get("chunks") or (), 1)]
    except (TokenmillError, msgspec.ValidationError) as problem:
        return {"name": name, "error": str(problem)}
    per_chunk.append(stream.end())
    answer = {"name": name, "events": [event for events in per_chunk for event in events]}
    if line.get("per_chunk"):
        answer["events_per_chunk"] = per_chunk
    return answer | ({"rejected": stream.rejected} if stream.rejected else {})


def _feed(stream: "Stream", number: int, chunk: Any) -> list[Any]:
    try:
        return stream.feed(chunk)
    except Undecodable as problem:
        raise Undecodable(f"chunk {number}: {problem}") from problem


class Stream:
    """A partition with one message. The line's codec decodes its chunks, which then get fixed ids and are processed."""

    def __init__(self, line: Mapping[str, Any]) -> None:
        """Raises `BadOpen`, `UnknownCodec` and `ConfigError`."""
        options = {key: line[key] for key in ("format", "tools") if key in line}
        dialect = line.get("dialect", "native")
        find_dialect(dialect)
        settings = PartitionSettings(
            defaults=read_options(options | (line.get("open") or {})),
            outputs=(OutputSpec("events", dialect),),
            dlq="dlq",
        )
        self._codec = find_codec(line.get("codec", "native"))
        self._codec_state = b""
        try:
            options_key(settings.defaults)  # options that are nested too deep have no fingerprint, and so no partition
            self._partition = Partition(settings, "tokens", 0)
        except RecursionError as problem:  # the partition's own fingerprint needs a little more depth
            raise BadOpen(f"the options are nested too deep: {problem}") from problem
        self._choices: dict[int, None] = {}
        """Choices that may be open, in the order in which they came."""
        self.rejected: list[str] = []
        """Errors of chunks that could not be used."""

    def feed(self, chunk: Any) -> list[Any]:
        """Return the events of one chunk: a string of model text, or a value for the codec.

        Raises `Undecodable` for a value that can't be in a record.
        """
        return self._decode(self._value(chunk))

    def _decode(self, value: bytes | None) -> list[Any]:
        try:
            self._codec_state, chunks = self._codec.decode(self._codec_state, self._record(value))
        except RecordError as problem:
            self.rejected.append(str(problem))
            return []
        return list(self._events(chunks))

    def end(self) -> list[Any]:
        """End all choices, and return the events of that. A codec that holds data back first gets a null value."""
        flushed = self._decode(None) if self._codec_state else []
        return flushed + list(self._events([Chunk(choice=choice, end=True) for choice in self._choices or (0,)]))

    def _value(self, chunk: Any) -> bytes:
        if isinstance(chunk, str) and self._codec.name == "native":
            return msgspec.json.encode({"delta": chunk})
        if isinstance(chunk, str) or (isinstance(chunk, dict) and chunk.keys() == {"base64"}):
            try:
                return to_bytes(chunk) or b""
            except (ValueError, TypeError) as problem:
                raise Undecodable(f"not base64: {problem}") from problem
        try:
            return msgspec.json.encode(chunk)
        except RecursionError as problem:
            raise Undecodable(f"can't be written as JSON: {problem}") from problem

    def _record(self, value: bytes | None) -> InputRecord:
        return InputRecord("tokens", 0, self._partition.offset, 0, CONVERSATION.encode(), value)

    def _events(self, chunks: Sequence[Chunk]) -> Iterator[Any]:
        out: list[Output] = []
        for chunk in chunks:
            self._choices[chunk.choice or 0] = None
            self._partition.process([self._record(msgspec.json.encode(self._with_fixed_ids(chunk)))], out)
        for output in out:
            if output.topic == "events":
                yield _DONE.decode() if output.value == _DONE else msgspec.json.decode(output.value or b"null")
            else:
                self.rejected.append(dict(output.headers)["tm-error"].decode())

    def _with_fixed_ids(self, chunk: Chunk) -> Chunk:
        """Return a chunk with the fixed ids.

        The first one gets `open`, so that it opens the message without content.
        """
        return msgspec.structs.replace(
            chunk,
            conversation_id=None,
            message_id=MESSAGE,
            open=chunk.open if self._partition.offset else chunk.open or {},
            end=chunk.end is True,
        )
