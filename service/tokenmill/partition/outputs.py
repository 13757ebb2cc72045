"""Turning events into output records: routes, headers, and the cap of one record."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from tokenmill.dialects import Dialect, find_dialect
from tokenmill.dialects.native import MADE_SEQS, NATIVE
from tokenmill.dialects.rendering import DELTAS_OF_CALLS, TOO_LARGE, fits, in_place, instead_of
from tokenmill.events import EVENT_TYPES, Error, Event, Finish, ToolCall
from tokenmill.partition.cloud_events import BINDINGS, Binding, attributes
from tokenmill.partition.defects import defect
from tokenmill.partition.message import Choice, Open
from tokenmill.partition.settings import OutputSpec, PartitionSettings
from tokenmill.partition.tally import Tally
from tokenmill.partition.trace_context import EndedMessage
from tokenmill.partition.traces import traced
from tokenmill.records import Output

ERROR_STAGES = {
    "malformed-call": "call",
    "unfinished-call": "call",
    "unknown-tool": "tools",
    "schema-mismatch": "tools",
    "gap": "input",
    "upstream": "input",
    "limit": "limit",
    "state-lost": "recovery",
    "reconfigured": "recovery",
    "internal": "internal",
}
"""Stage that each error comes from: a label of the metric."""

FAILED_CALLS = frozenset({"malformed-call", "unfinished-call"})

FAILED = "tokenmill, or a plug-in, failed to write this {}; its log says where"

_TRUNCATED = ("tm-truncated", b"1")
"""Header of a payload that holds less than it should, as `truncated` of its dialect's state reports."""

_SEQS = [("tm-seq", b"%d" % seq) for seq in range(MADE_SEQS)]
"""Headers of the most frequent numbers, made once."""


class Route(NamedTuple):
    """One output as the hot path sees it."""

    topic: str
    dialect: Dialect
    place: int
    """Index of the dialect's state in `Open.states`."""
    for_runners: bool
    errors: bool
    """Whether its readers asked for errors."""
    by_choice: bool
    """Whether its keys name the choice, not only the conversation."""
    binding: Binding | None
    """How its records are made CloudEvents; None: they are not."""


class _Kind(NamedTuple):
    """What happens to events of one type."""

    name: str
    routes: tuple[Route, ...]
    noted: bool
    """Whether it is counted under more than its type."""
    only: Route | None
    """The only route, if nothing but writing to it is needed."""


class Outputs:
    """Renders the events of one partition as records."""

    def __init__(self, settings: PartitionSettings, tally: Tally) -> None:
        self.tally = tally
        self._room = settings.limits.payload_bytes
        self._routes = [
            Route(
                spec.topic,
                find_dialect(spec.dialect),
                place,
                spec.for_runners,
                errors=spec.events is None or "error" in spec.events,
                by_choice=spec.key == "choice",
                binding=BINDINGS[spec.cloudevents] if spec.cloudevents else None,
            )
            for place, spec in enumerate(settings.outputs)
        ]
        self._keeps_state = bool(self.states())
        self._traced = settings.traced
        self.silent = False
        """Whether nothing is written, as during a replay."""
        self.unsent = 0
        """Number of events made while `silent`."""
        self._kinds = {kind: self._kind(kind, settings.outputs, self._routes) for kind in EVENT_TYPES}
        streaming = [route if route.dialect.streams_tool_input else None for route in self._routes]
        self._unasked = self._kinds | {kind: self._kind(kind, settings.outputs, streaming) for kind in DELTAS_OF_CALLS}
        """The same for messages that don't ask for `stream_tool_input`."""

    def _kind(self, kind: type[Event], specs: Sequence[OutputSpec], among: Sequence[Route | None]) -> _Kind:
        name = str(kind.__struct_config__.tag)
        asked = [spec.events is None or name in spec.events for spec in specs]
        routes = tuple(route for route, wanted in zip(among, asked, strict=True) if route and wanted)
        noted = kind in (Error, ToolCall)
        simple = len(routes) == 1 and not noted and routes[0].dialect.state_type is None and not routes[0].binding
        return _Kind(name, routes, noted, routes[0] if simple else None)

    def states(self) -> tuple[Any, ...]:
        """New states of the dialects for one choice; empty if none keeps any."""
        types = [route.dialect.state_type for route in self._routes]
        return tuple(type_() if type_ else None for type_ in types) if any(types) else ()

    def emit(self, events: Sequence[Event], choice: Choice, time: int, out: list[Output]) -> None:
        """Number the events of a choice and write them; `time` is the record's, in milliseconds since the epoch."""
        if self._traced:
            events = self._traces(events, choice)
        if self.silent and self._passed_over(events, choice):
            return
        kinds = self._kinds if choice.envelope.request.stream_tool_input else self._unasked
        counts = self.tally.events
        seq, written = choice.seq, len(out)
        for event in events:
            kind = kinds[event.__class__]
            counts[kind.name] += 1
            if (only := kind.only) is not None:
                try:
                    payloads = only.dialect.encode(None, choice.envelope, event, seq, time)
                    simple = len(payloads) == 1 and payloads[0].__class__ is bytes and len(payloads[0]) <= self._room
                except Exception:  # noqa: BLE001 -- it fails again below, where more can be done about it
                    simple = False
                if simple:
                    out.append(Output(only.topic, time, choice.key, payloads[0], _headers(choice, seq)))
                    seq += 1
                    continue
            if kind.noted:
                self._note(event, choice)
            said = event
            for route in kind.routes:
                said = self._write(route, said, choice, seq, time, out)
            seq += 1
        choice.seq = seq
        if choice.trace_context:
            _trace(out[written:], choice)
            self._note_end(events, choice, time)

    def _traces(self, events: Sequence[Event], choice: Choice) -> Sequence[Event]:
        """The events without the spans of calls, which go to the log."""
        events, traces = traced(events, choice)
        if not self.silent:
            self.tally.traces += traces
        return events

    def _passed_over(self, events: Sequence[Event], choice: Choice) -> bool:
        """Count events that are not written; returns whether they need nothing but their numbers."""
        self.unsent += len(events)
        if not self._keeps_state:
            choice.seq += len(events)
        return not self._keeps_state

    def announce(self, events: Sequence[Event], choice: Choice, time: int, out: list[Output]) -> None:
        """Write events, without `seq`, of a choice whose state is lost."""
        written = len(out)
        for event in events:
            kind = self._kinds[event.__class__]
            self.tally.events[kind.name] += 1
            if kind.noted:
                self._note(event, choice)
            for route in kind.routes:
                self._write(route, event, choice, None, time, out)
        _trace(out[written:], choice)

    def _write(
        self, route: Route, event: Event, choice: Choice, seq: int | None, time: int, out: list[Output]
    ) -> Event:
        """Write an event; returns the one for the routes after this one: what readers of native events got."""
        if isinstance(event, Error) and not route.errors:  # it replaced an event that this route asked for
            return event
        if route.for_runners and not _concerns_runners(event):
            return event
        going = choice.state
        state = going.states[route.place] if isinstance(going, Open) and going.states else None
        instead: Event | None = None
        try:
            payloads = _sound(route.dialect.encode(state, choice.envelope, event, seq, time))
        except Exception as problem:  # noqa: BLE001 -- whatever it is, it must not stop the partition
            instead, payloads = self._failed(problem, event, choice), ()
        if len(payloads) == 1 and len(payloads[0]) <= self._room:
            headers = _headers(choice, seq)
            if state is not None and getattr(state, "truncated", False):
                headers.append(_TRUNCATED)
            out.append(_record(route, choice, event, seq, time, payloads[0], headers))
            return event
        if not fits(payloads, self._room):
            instead = instead_of(event, "limit", TOO_LARGE)
        shown = said = event
        if instead is not None:
            payloads = self._in_place(route, state, instead, choice, seq, time)
            shown, said = instead, instead if route.dialect is NATIVE else event
        for number, payload in enumerate(payloads, 1):
            headers = _headers(choice, seq)
            if len(payloads) > 1:
                headers.append(("tm-part", b"%d/%d" % (number, len(payloads))))
            out.append(_record(route, choice, shown, seq, time, payload, headers, number))
        return said

    def _failed(self, problem: Exception, event: Event, choice: Choice) -> Event:
        """What is published in place of an event on which a dialect failed."""
        self.tally.fail(str(defect(problem)))
        self._note(Error(code="internal", message=""), choice)
        return instead_of(event, "internal", FAILED)

    def _in_place(
        self, route: Route, state: Any, instead: Event, choice: Choice, seq: int | None, time: int
    ) -> Sequence[bytes]:
        dialect, envelope = route.dialect, choice.envelope
        try:
            return _sound(in_place(dialect, state, envelope, instead, seq, time, room=self._room, errors=route.errors))
        except Exception as problem:  # noqa: BLE001 -- as above; a dialect that fails on errors, too, writes nothing
            self.tally.fail(str(defect(problem)))
            return ()

    def _note_end(self, events: Sequence[Event], choice: Choice, time: int) -> None:
        """Keep what a trace reports about a choice that has ended."""
        if events and isinstance(finish := events[-1], Finish):
            said = choice.envelope.format
            formats: tuple[str, ...] = (said,) if isinstance(said, str) else tuple(said)
            self.tally.ended.append(
                EndedMessage(choice.trace_context, choice.envelope, finish, formats, choice.seq, time)
            )

    def _note(self, event: Event, choice: Choice) -> None:
        """Count errors and calls under the format that they came in."""
        said = choice.envelope.format
        label = said if isinstance(said, str) else "several"
        if isinstance(event, ToolCall):
            outcome = "repaired" if event.repaired else "ok"
            self.tally.tool_calls[label, outcome if event.problem is UNSET else event.problem] += 1
            return
        assert isinstance(event, Error)  # no other kind is noted
        self.tally.parse_errors[label, ERROR_STAGES[event.code], event.code] += 1
        if event.code in FAILED_CALLS:
            self.tally.tool_calls[label, event.code] += 1


def _sound(payloads: Sequence[bytes]) -> Sequence[bytes]:
    """The payloads that a dialect returned. Raises `TypeError` if they are not bytes."""
    payloads = payloads if payloads.__class__ is list else list(payloads)
    for payload in payloads:
        if payload.__class__ is not bytes:
            raise TypeError
    return payloads


def _concerns_runners(event: Event) -> bool:
    if isinstance(event, ToolCall):
        return event.problem is UNSET
    return isinstance(event, Finish) and event.reason == "cancelled"


def _headers(choice: Choice, seq: int | None) -> list[tuple[str, bytes]]:
    """The headers that every reader needs. Each costs a tenth of a microsecond, so the usual values are left out."""
    headers = [choice.id_header]
    if seq is not None:
        headers = [choice.id_header, _SEQS[seq] if seq < MADE_SEQS else ("tm-seq", b"%d" % seq), choice.opened_header]
    if choice.index:
        headers.append(("tm-choice", b"%d" % choice.index))
    return headers


def _record(
    route: Route,
    choice: Choice,
    event: Event,
    seq: int | None,
    time: int,
    payload: bytes,
    headers: list[tuple[str, bytes]],
    part: int = 1,
) -> Output:
    """The record of a payload, which may be a CloudEvent."""
    if route.binding is not None:
        payload, more = route.binding(attributes(event, choice, route.topic, seq, part, time), payload)
        headers += more
    return Output(route.topic, time, _key(route, choice), payload, headers)


def _key(route: Route, choice: Choice) -> bytes:
    """The record's key: `conversation`, or `conversation/message/choice`."""
    return b"%b/%b/%d" % (choice.key, choice.id_header[1], choice.index) if route.by_choice else choice.key


def _trace(written: Sequence[Output], choice: Choice) -> None:
    """Add the tracing headers of their message to records."""
    for output in written:
        output.headers.extend(choice.trace_context)
