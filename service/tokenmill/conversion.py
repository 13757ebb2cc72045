"""Conversion of a provider's stream to a client's stream within a program: any codec, any dialect, no broker.

1. One `Conversion` is one answer. Its output is byte for byte what a worker makes of the same records.
2. It has no clock: the caller gives times for payloads, in milliseconds since the epoch.
3. Model output never raises. A record that its codec can't read raises the `RecordError` that would make it a dead
   letter in a worker; the answer continues with the next record.
"""

import secrets
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, Unpack, cast

import msgspec

from tokenmill.codecs import Chunk, find_codec
from tokenmill.dialects import Renderer, find_dialect
from tokenmill.dialects.json_text import json_bytes
from tokenmill.dialects.server_sent import server_sent
from tokenmill.errors import RECORD_ERRORS, MessageEnded, RecordError, Undecodable
from tokenmill.events import Event, Finish
from tokenmill.formats import compile_grammar
from tokenmill.library import IDENTITY_BYTES, checked_limits
from tokenmill.limits import Limits
from tokenmill.parser.options import MessageOptions, read_options
from tokenmill.parser.parser import UPSTREAM_CHARS
from tokenmill.parser.spec import Format
from tokenmill.parser.values.repair import single_halves
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output, header
from tokenmill.sources import close_source


class SdkObject(Protocol):
    """An item of the SDKs of OpenAI and Anthropic."""

    def model_dump_json(self, *, exclude_unset: bool = False) -> str:
        """Return it as JSON."""

    def model_dump(self, *, exclude_unset: bool = False) -> dict[str, Any]:
        """Return it as a dictionary."""


Raw: TypeAlias = bytes | bytearray | memoryview | str | Mapping[str, Any] | SdkObject
"""A record of a provider: its bytes or text, or its JSON as an object of Python or of an SDK."""

Tools: TypeAlias = Sequence[Mapping[str, Any]]


class ConversionOptions(MessageOptions, total=False):
    """Every option of a `Conversion` by its name."""

    format: str | Sequence[str]
    tools: Tools
    conversation_id: str
    message_id: str | None
    limits: Limits | None
    choice: int | None


UNNAMED = 1 << 48
"""Range of the random number in the ids of messages that native chunks do not name."""

_OUT, _REFUSED = "out", "refused"

_NATIVE = (("tm-codec", b"native"),)
"""Header of the chunks that end an answer, whatever its codec is."""

_PROBLEMS: dict[bytes, type[RecordError]] = {each.code.encode(): each for each in RECORD_ERRORS}


class Conversion:
    """The records of one answer in a codec, in; the payloads of a dialect, out.

    `codec` and `dialect` are names; `sse+` before a codec reads the bytes of a connection, cut anywhere. `format` is
    what the model writes, `tools` an OpenAI tool list, and `options` are those of a message (see
    `tokenmill.parser.Options`). `message_id` is the answer's id if the provider gives none; by default it is random.
    It does not apply to native chunks, which name their messages themselves; ids of unnamed ones are random. `limits`
    are the caps, by default those of a worker: raise them for whole answers of more than a MiB.
    `choice` is the only alternative answer whose payloads are returned; by default those of all are. Most dialects have
    one stream for each, in which clients can't tell them apart: make a `Conversion` for each choice.
    Raises `UnknownCodec`, `ConfigError` for an unknown dialect or a cap below 1, and `BadOpen` for wrong options.
    """

    def __init__(
        self,
        codec: str,
        dialect: str,
        *,
        format: str | Sequence[str] = "plain",  # noqa: A002 -- the option's name
        tools: Tools = (),
        conversation_id: str = "conversation",
        message_id: str | None = None,
        limits: Limits | None = None,
        choice: int | None = None,
        **options: Unpack[MessageOptions],
    ) -> None:
        if isinstance(format, Format):
            raise TypeError(
                "a Conversion finds formats by name: register yours as a plug-in, or use a Parser and render its events"
            )
        names = format if isinstance(format, str) else list(format)
        read = read_options({"format": names, "tools": list(tools), **options})
        caps = checked_limits(limits)
        settings = PartitionSettings(
            defaults=compile_grammar(read, caps).options,
            codec=find_codec(codec).name,
            outputs=(OutputSpec(_OUT, dialect),),
            limits=caps,
            dlq=_REFUSED,
        )
        find_dialect(dialect)
        identity = secrets.token_hex(IDENTITY_BYTES) if message_id is None else message_id
        self._key = conversation_id.encode()
        self._identity = identity
        self._headers = [("tm-message-id", identity.encode())]
        self._native = settings.codec == "native"
        self._partition = Partition(settings, "in", secrets.randbelow(UNNAMED))
        self._choice = choice
        self._ended = False
        self._kept: list[bytes] = []
        """Payloads of a refused record, which the next call returns."""
        self._shown = False
        """Whether there was any payload."""

    def feed(self, record: Raw, time: int = 0) -> list[bytes]:
        """The payloads of one record. Raises `RecordError` for one that can't be used, `MessageEnded` after `end`.

        What such a record has made before the fault is returned by the next call.
        """
        if self._ended:
            raise MessageEnded("the answer has ended; make a new Conversion for the next one")
        return self._processed(record_bytes(record), time)

    def end(self, time: int = 0) -> list[bytes]:
        """The payloads of the stream's end: none if the records have ended it already, or on a second call."""
        return self._last(self._ends, time)

    def fail(self, why: str, time: int = 0) -> list[bytes]:
        """End the answer as failed, for `end` where the provider broke off: text that was held comes out, then an
        error and the end. An answer that is complete stays as it is.
        """
        said = single_halves(why[:UPSTREAM_CHARS])  # no event shows more; a record has to hold it
        return self._last(lambda: self._broken_off(error=said, finish_reason="error", end=True), time)

    def cancel(self, time: int = 0) -> list[bytes]:
        """End the answer as cancelled, as `fail` does, without an error."""
        return self._last(lambda: self._broken_off(control="cancel"), time)

    def _last(self, ends: Callable[[], Iterable[Chunk | None]], time: int) -> list[bytes]:
        """The payloads of what ends the answer, unless something has ended it."""
        if self._ended:
            return []
        self._ended, payloads, self._kept = True, self._kept, []
        for end in ends():
            value, headers = (None, self._headers) if end is None else (msgspec.json.encode(end), _NATIVE)
            payloads += self._processed(value, time, headers)
        return payloads

    def _ends(self) -> Sequence[Chunk | None]:
        """What ends all open messages: a native stream has no end, so each choice gets a chunk."""
        if not self._native:
            return [None]
        return [Chunk(message_id=name, choice=choice, end=True) for name, choice in self._partition.going_on()]

    def _broken_off(self, **fields: Any) -> Sequence[Chunk]:
        """Return what breaks off all open messages. If the answer has not begun, it begins here: under the id of the
        open message if other choices have begun, else under the given id.
        """
        going_on = self._partition.going_on()
        chunks = [Chunk(message_id=name, choice=choice, **fields) for name, choice in going_on]
        if going_on:
            begun = self._shown or self._choice in {None, *(choice for _, choice in going_on)}
        else:
            begun = bool(self._partition.tally.opened)
        if begun:
            return chunks
        message_id = going_on[-1][0] if going_on else self._identity
        named: dict[str, Any] = {"message_id": message_id, "choice": self._choice or 0}
        return [Chunk(**named, open={}), Chunk(**named, **fields), *chunks]

    def _processed(
        self, value: bytes | None, time: int, headers: Sequence[tuple[str, bytes]] | None = None
    ) -> list[bytes]:
        out, partition = list[Output](), self._partition
        given = list(self._headers if headers is None else headers)
        partition.process((InputRecord("in", partition.number, partition.offset, time, self._key, value, given),), out)
        payloads, self._kept = self._kept, []
        payloads += [output.value for output in out if output.value is not None and self._wanted(output)]
        self._shown |= bool(payloads)
        for output in out:
            if output.topic == _REFUSED:
                self._kept = payloads
                code, said = (header(output.headers, name) or b"" for name in ("tm-error-code", "tm-error"))
                raise _PROBLEMS.get(code, Undecodable)(said.decode())
        return payloads

    def _wanted(self, output: Output) -> bool:
        choice = self._choice
        return output.topic == _OUT and (choice is None or int(header(output.headers, "tm-choice") or 0) == choice)


def record_bytes(record: Raw) -> bytes:
    """Return a record as a codec reads it. Half a surrogate pair, which can't be encoded, becomes U+FFFD."""
    if isinstance(record, str):
        return single_halves(record).encode()  # type: ignore[no-any-return] # text gives text
    if isinstance(record, bytes | bytearray | memoryview):
        return bytes(record)
    return _dumped(record) if hasattr(record, _OF_SDK) else json_bytes(record)


_OF_SDK = "model_dump_json"
"""Attribute that an object of an SDK has."""


def _dumped(record: Any) -> bytes:
    """An object of an SDK, as the SDK writes it, which does not write halves of surrogate pairs."""
    try:
        return str(record.model_dump_json(exclude_unset=True)).encode()
    except ValueError:
        return json_bytes(record.model_dump(exclude_unset=True))


def convert(
    records: Iterable[Raw] | Raw,
    codec: str,
    dialect: str,
    *,
    time: int = 0,
    **options: Unpack[ConversionOptions],
) -> Generator[bytes]:
    """The payloads of an answer, each as soon as it is certain; see `Conversion`. One record may stand for a list.

    If the records raise, or one can't be used, the answer ends as failed before the error is raised.
    """
    return _converted(Conversion(codec, dialect, **options), _listed(records), time)


def _listed(records: Any) -> Iterable[Raw]:
    """Return the records, or the one record as a list."""
    one = isinstance(records, bytes | bytearray | memoryview | str | Mapping) or hasattr(records, _OF_SDK)
    return [records] if one else records


def _converted(conversion: Conversion, records: Iterable[Raw], time: int) -> Generator[bytes]:
    try:
        for record in records:
            yield from conversion.feed(record, time)
    except Exception as problem:
        yield from conversion.fail(_why(problem), time)
        raise
    yield from conversion.end(time)


def convert_async(
    records: AsyncIterable[Raw],
    codec: str,
    dialect: str,
    *,
    time: int = 0,
    **options: Unpack[ConversionOptions],
) -> AsyncGenerator[bytes]:
    """The same as `convert`, for asynchronous records. When it ends or is closed, it closes them."""
    return _converted_async(Conversion(codec, dialect, **options), records, time)


async def _converted_async(conversion: Conversion, records: AsyncIterable[Raw], time: int) -> AsyncGenerator[bytes]:
    source = aiter(records)
    try:
        async for record in source:
            for payload in conversion.feed(record, time):
                yield payload
    except Exception as problem:
        for payload in conversion.fail(_why(problem), time):
            yield payload
        raise
    finally:
        await close_source(records, source)
    for payload in conversion.end(time):
        yield payload


def _why(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"


def options_for(dialect: str, **options: Unpack[MessageOptions]) -> MessageOptions:
    """Return the options for a `Parser` whose events `render` turns into this dialect: with those that a worker adds.

    Some dialects show the text of arguments as it arrives, or describe the tools; others need no events of calls that
    grow. Raises `ConfigError` for an unknown dialect, and `BadOpen` for wrong options.
    """
    find_dialect(dialect)
    read = read_options(options)
    worker = PartitionSettings(outputs=(OutputSpec(_OUT, dialect),)).resolved(read)
    added = {name: getattr(worker, name) for name in _ADDED if getattr(worker, name) != getattr(read, name)}
    return cast(MessageOptions, {**options, **added})


_ADDED = ("stream_tool_input", "describe_tools", "content_arguments")
"""Options that a worker sets for the dialects of its outputs."""


def render(
    events: Iterable[Event],
    dialect: str,
    conversation_id: str,
    message_id: str,
    choice: int = 0,
    time: int = 0,
    choices_left: int = 0,
) -> Generator[bytes]:
    """The events of one parser as payloads of a dialect: those of a worker, if the parser has `options_for` it.

    `time` is in milliseconds since the epoch, for the dialects that show one. `choices_left` is the number of other
    choices of the message that are still open at the end of this one: dialects that hold all choices in one stream end
    it with the last. Raises `ConfigError` for an unknown dialect.
    """
    who = {"conversation_id": conversation_id, "message_id": message_id, "choice": choice, "time": time}
    return _rendered(events, Renderer(find_dialect(dialect)), who, choices_left)


def _rendered(events: Iterable[Event], renderer: Renderer, who: dict[str, Any], choices_left: int) -> Generator[bytes]:
    for seq, event in enumerate(events):
        last = {"choices_left": choices_left} if isinstance(event, Finish) else {}
        yield from renderer.render(msgspec.structs.replace(event, seq=seq, **who, **last))


def sse(payload: bytes, dialect: str) -> bytes:
    """A payload as one server-sent event, as clients of the dialect read it. Raises `ConfigError` as `render` does."""
    return server_sent(payload, find_dialect(dialect))
