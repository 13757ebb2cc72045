"""Rebuilding a partition's state from a snapshot, in steps.

A partition may have a hundred thousand messages, which take a second. A thread must not do it: when two threads use a
type for the first time at once, the library that decodes it crashes the process (msgspec 0.22).
"""

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from tokenmill.dialects import Envelope, find_dialect
from tokenmill.errors import BadOpen, SnapshotError
from tokenmill.formats import compile_grammar
from tokenmill.parser import Grammar, MessageParser, Options, options_key
from tokenmill.partition.intake import Kept
from tokenmill.partition.log_id import LogId
from tokenmill.partition.low_water import LowWater, Root
from tokenmill.partition.mark import Mark
from tokenmill.partition.message import Choice, Ended, Lost, Message, Open
from tokenmill.partition.packed import Packed
from tokenmill.partition.settings import PartitionSettings
from tokenmill.partition.snapshot import (
    SCHEMA,
    ChoiceState,
    EndedState,
    KeptState,
    LostState,
    MessageState,
    Meta,
    OpenState,
)

T = TypeVar("T")

STEP = 500
"""Messages in one step, which takes a few milliseconds; then other tasks have their turn."""

_decode_meta = msgspec.msgpack.Decoder(Meta).decode
_decode_message = msgspec.msgpack.Decoder(MessageState).decode
_decode_kept = msgspec.msgpack.Decoder(KeptState).decode
_decode_options = msgspec.msgpack.Decoder(Options).decode


def in_steps(things: Iterable[object]) -> Iterator[None]:
    """Exhaust a slow iterable, yielding after every `STEP` items."""
    for number, _ in enumerate(things, 1):
        if not number % STEP:
            yield


def at_once(steps: Generator[None, None, T]) -> T:
    """Run all steps without a pause; returns their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, BadOpen, KeyError, IndexError) as problem:
        raise SnapshotError(f"the snapshot can't be read: {problem!r}") from problem


class _AllOptions:
    """The sets of options in a snapshot, compiled for unfinished choices and packed for ended ones."""

    def __init__(self, settings: PartitionSettings, encoded: Iterable[bytes]) -> None:
        self._settings = settings
        self._options = {options_key(options): options for options in map(_decode_options, encoded)}
        self._grammars: dict[str, Grammar] = {}
        self._packed: dict[str, Packed] = {}

    def grammar(self, key: str) -> Grammar:
        """The options for a choice that has not ended."""
        grammar = self._grammars.get(key)
        if grammar is None:
            grammar = self._grammars[key] = self._compiled(key)
        return grammar

    def packed(self, key: str) -> Packed:
        """The options for a choice that has ended."""
        packed = self._packed.get(key)
        if packed is None:
            packed = self._packed[key] = Packed(self._compiled(key))
        return packed

    def check(self) -> None:
        """Compile those that no choice uses, too, so a snapshot with impossible options is refused."""
        for key in self._options.keys() - self._grammars.keys() - self._packed.keys():
            self._compiled(key)

    def _compiled(self, key: str) -> Grammar:
        return compile_grammar(self._options[key], self._settings.limits, traced=self._settings.traced)


class Restored:
    """The content of a snapshot. Every method raises `SnapshotError` if it can't be read."""

    def __init__(self, settings: PartitionSettings, meta: bytes, fields: Mapping[bytes, bytes]) -> None:
        with _readable():
            self.meta = _read_meta(meta)
            self._states = _places_of_states(settings, self.meta)
            kinds: dict[bytes, list[bytes]] = {b"g": [], b"m": [], b"k": []}
            for name, value in fields.items():
                kinds[name[:1]].append(value)
            self._encoded = kinds[b"m"]
            self._options = _AllOptions(settings, kinds[b"g"])
            self.low_water = LowWater(self.meta.spans)
            self._roots: dict[int, Root] = {}
            self.kept = [self._kept(_decode_kept(value)) for value in kinds[b"k"]]

    def check(self, place: tuple[str, int], mark: Mark) -> None:
        """Check that it is of this topic and partition, and that a replay leads from it to `mark`."""
        meta = self.meta
        if (meta.topic, meta.partition) != place:
            raise SnapshotError(f"the snapshot is of {meta.topic}-{meta.partition}, not of {place[0]}-{place[1]}")
        if meta.log.diverged_from(mark.log):
            raise SnapshotError(f"the snapshot is of another log, {meta.log}, not of {mark.log}")
        if not mark.unseen_until <= meta.offset <= mark.offset:
            raise SnapshotError(f"the snapshot is of offset {meta.offset}, which does not lead to {mark.offset}")

    def messages(self) -> Iterator[Message]:
        """Its messages, made one by one. After the last one, `low_water` has the roots of all."""
        with _readable():
            for value in self._encoded:
                yield self._message(_decode_message(value))
            self._options.check()
        self.low_water.restore(self._roots.values())

    def _root(self, offset: int) -> Root:
        root = self._roots.get(offset)
        if root is None:
            root = self._roots[offset] = Root(offset)
        return root

    def _message(self, state: MessageState) -> Message:
        message = Message(state.key, state.key.decode(), state.id, named=state.named)
        message.closed, message.last = state.closed, state.last
        message.choices = [self._choice(message, choice) for choice in state.choices]
        return message

    def _choice(self, message: Message, state: ChoiceState) -> Choice:
        key, ended = state.grammar, isinstance(state.state, EndedState)
        options: Grammar | Packed = self._options.packed(key) if ended else self._options.grammar(key)
        envelope = Envelope(
            message.conversation,
            message.id,
            state.index,
            state.created,
            options.message_start,
        )
        choice = Choice(message.key, self._root(state.root), state.first, options, envelope)
        if state.opened != state.created:
            choice.opened_header = ("tm-opened", b"%d" % state.opened)
        choice.opener, choice.pinned = state.opener, state.pinned
        choice.position, choice.seq = state.position, state.seq
        choice.trace_context = state.trace_context
        choice.state = self._state(state.state, choice)
        return choice

    def _state(self, state: OpenState | EndedState | LostState, choice: Choice) -> Open | Ended | Lost:
        if isinstance(state, EndedState):
            return Ended(state.offset)
        if isinstance(state, LostState):
            return Lost(announced=True)
        states = self._dialect_states(state.states) if self._states else ()
        opened = Open(MessageParser.of_state(choice.compiled(), state.parser), states)
        opened.reason, opened.usage, opened.stop_sequence = state.reason, state.usage, state.stop_sequence
        return opened

    def _dialect_states(self, encoded: list[bytes]) -> tuple[Any, ...]:
        """The states for the current outputs; an output that is newer than the snapshot starts in the middle."""
        return tuple(
            None if type_ is None else type_() if place is None else msgspec.msgpack.decode(encoded[place], type=type_)
            for type_, place in self._states
        )

    def _kept(self, state: KeptState) -> Kept:
        place = (state.codec, state.key, state.stream)
        return Kept(place, state.state, self._root(state.root), state.last, state.message_id)


def log_of(meta: bytes) -> LogId:
    """The log that a snapshot is of. Raises `SnapshotError` if it can't be read."""
    with _readable():
        return _read_meta(meta).log


def _read_meta(data: bytes) -> Meta:
    meta = _decode_meta(data)
    if meta.schema != SCHEMA:
        raise SnapshotError(f"the snapshot has schema version {meta.schema}, this program {SCHEMA}")
    return meta


def _places_of_states(settings: PartitionSettings, meta: Meta) -> list[tuple[type[msgspec.Struct] | None, int | None]]:
    """The type of each output's dialect state and its index in the snapshot; empty if no dialect keeps any."""
    types = [find_dialect(spec.dialect).state_type for spec in settings.outputs]
    if not any(types):
        return []
    places = {output: place for place, output in enumerate(meta.outputs)}
    wanted = [(spec.topic, spec.dialect) for spec in settings.outputs]
    return [(type_, places.get(output)) for type_, output in zip(types, wanted, strict=True)]
