"""The mode of an answer that is one call as a whole.

1. All text is the source of the call and is read when the message ends. Nothing of it is visible text.
2. An object that names no tool calls the only one that can be meant, if there is one, else `unknown`.
3. The call comes even if the text is no such object: to `unknown`, without arguments, after an `error` that says why,
   and with a `problem`, so that nobody executes it.
"""

from collections.abc import Collection
from typing import Any

from tokenmill.events import AnyEvent, Error
from tokenmill.limits import NAME_CHARS, RAW_CHARS
from tokenmill.parser.bodies.json_body import JsonCall, check_arguments
from tokenmill.parser.modes.text import Quick, give_back, limit
from tokenmill.parser.run.calls import Verdict, begin, complete
from tokenmill.parser.run.rules import TEXT, Rules
from tokenmill.parser.run.run import Run
from tokenmill.parser.run.state import OpenCall, Source, State
from tokenmill.parser.values.repair import decode_json

_KEYS = JsonCall(arguments=("arguments",))

UNKNOWN = "unknown"
"""Name of the tool of an answer that names none."""


class WholeCallMode:
    """Inside an answer that is one call."""

    def __init__(self, number: int, call_chars: int) -> None:
        self._number = number
        self._call_chars = call_chars

    def quick(self, state: State) -> Quick | None:
        return None if state.call is None else self._more

    def _more(self, rules: Rules, state: State, text: str) -> list[AnyEvent] | None:  # noqa: ARG002 -- a `Quick`
        call: OpenCall = state.call  # type: ignore[assignment] # -- it is there, once it has begun
        if call.source.size + len(text) > self._call_chars:
            return None
        call.source.add(text)
        return []

    def step(self, run: Run, buffer: str, position: int) -> int:
        state = run.state
        call = state.call = state.call or OpenCall(Source(), self._number)
        stop = min(len(buffer), position + self._call_chars - call.source.size)
        call.source.add(buffer[position:stop])
        if stop < len(buffer):
            limit(run, f"a call is longer than {self._call_chars} characters")
        return stop

    def end(self, run: Run) -> None:
        state = run.state
        call, state.call = state.call or OpenCall(Source(), self._number), None
        state.mode = TEXT
        source = call.source.text()
        rules = run.rules
        name, arguments, problem = UNKNOWN, dict[str, Any](), ""
        repaired = False
        try:
            value, repaired = _object(source)
            name = _name(value) or rules.only_tool or UNKNOWN
            arguments = rules.conformed(name, _arguments(value, rules.parameters(name)))
        except ValueError as error:
            problem = str(error)
            run.close_block()
            run.out.append(Error("malformed-call", problem, name=name, raw=source[:RAW_CHARS]))
        verdict = begin(run, call, name, "", "json")
        if verdict is Verdict.LIMIT:
            state.call = call
            limit(run, f"there are more than {rules.limits.calls} calls")
        elif verdict is Verdict.TEXT:
            give_back(run, source, None, call)
        else:
            complete(run, call, arguments, repaired=repaired, mismatch=problem or None)


def _object(source: str) -> tuple[dict[str, Any], bool]:
    if not source.strip():
        raise ValueError("the answer has no text")
    value, repaired = decode_json(source)
    if not isinstance(value, dict):
        raise ValueError("the answer is no JSON object")  # noqa: TRY004 -- what the source says is wrong, not a type
    return value, repaired


def _name(value: dict[str, Any]) -> str:
    name = value.get("name")
    return name.strip()[:NAME_CHARS] if isinstance(name, str) else ""


def _arguments(value: dict[str, Any], parameters: Collection[str]) -> dict[str, Any]:
    check_arguments(value, _KEYS, parameters)
    if value and not value.keys() & {"name", "arguments"}:
        raise ValueError("the answer has neither a name nor arguments")
    arguments = value.get("arguments", {})
    if not isinstance(arguments, dict):
        raise ValueError("the arguments are no JSON object")  # noqa: TRY004 -- what the source says is wrong, not a type
    return arguments
