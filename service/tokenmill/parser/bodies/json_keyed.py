"""Calls as JSON objects with one key, which is the tool's name: `{"NAME": {arguments}}`."""

from collections.abc import Sequence
from typing import Any

import msgspec

from tokenmill.parser.bodies.base import Reader
from tokenmill.parser.bodies.json_body import JsonCall, JsonReader, as_arguments
from tokenmill.parser.bodies.json_reading import Reading
from tokenmill.parser.markers import Marker
from tokenmill.parser.run.calls import Verdict
from tokenmill.parser.run.run import Run
from tokenmill.parser.run.state import JsonState, OpenCall
from tokenmill.parser.values.repair import decode_json


class JsonKeyed(msgspec.Struct, frozen=True):
    """One object whose only key names the tool."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """The reader of this body."""
        return _KeyedReader(stops)


class _KeyedReader(JsonReader):
    def __init__(self, stops: Sequence[Marker]) -> None:
        super().__init__(JsonCall(), stops)

    def _key(self, reading: Reading, level: int, position: int) -> Verdict:
        super()._key(reading, level, position)
        state = reading.state
        if level != 1:
            return Verdict.MORE
        if state.name is not None:
            return Verdict.FAILED
        state.name = state.key
        return self._named(reading, position)

    def _value(self, reading: Reading, level: int, position: int) -> Verdict:
        if level != 1:
            return super()._value(reading, level, position)
        if reading.buffer[position] != "{" or reading.state.begin >= 0:
            return Verdict.FAILED
        reading.begin_arguments(position, stringy=False)
        return Verdict.MORE

    def _end(self, reading: Reading, position: int) -> Verdict:
        reading.end_arguments(position)
        return Verdict.MORE

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:  # noqa: ARG002 -- needs no tools
        state = call.body
        assert isinstance(state, JsonState)
        if not call.begun:
            raise ValueError("the call names no tool")
        value, repaired = decode_json(call.source.text()[state.root :], growing=True)
        return as_arguments(next(iter(value.values()), None) if isinstance(value, dict) else value), repaired
