"""The modes of an answer that is a single JSON object: one that holds text and call, or one that is the call.

Where the text is a string in the object, and the call an object:

1. The first key decides: unless it is the text's or the call's, the answer is text. So is an answer that does not begin
   with an object. White space before the object belongs to it.
2. The text is sent decoded, as it grows; half an escape is held back. The call is read as in any other format.
3. The values of other keys are ignored. What follows the object is text.
4. From the first thing on that can't be JSON, and after a call that failed, all is text.
"""

import re
from collections.abc import Collection
from typing import Any

from tokenmill.events import AnyEvent, Error, TextDelta
from tokenmill.limits import NAME_CHARS, RAW_CHARS
from tokenmill.parser.bodies.json_body import JsonCall, certain, check_arguments
from tokenmill.parser.bodies.json_scan import Token
from tokenmill.parser.markers import LEADING_SPACE, Scanner, literal, marker
from tokenmill.parser.modes.strict_scan import Phase, scan
from tokenmill.parser.modes.text import Quick, give_back, limit, open_call
from tokenmill.parser.run.rules import TEXT, Rules
from tokenmill.parser.run.run import Run, Verdict, begin, complete
from tokenmill.parser.run.state import JsonState, OpenAnswer, OpenCall, Source, State
from tokenmill.parser.spec import Answer
from tokenmill.parser.values.repair import decode_json, decode_string

_CONTENT = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL)


def _content(rules: Rules, state: State, text: str) -> list[AnyEvent] | None:  # noqa: ARG001 -- a `Quick`
    """Send more of the string that is the answer's text."""
    return None if '"' in text or "\\" in text else [TextDelta(state.block, text)]


class LeadMode:
    """Before the answer: an object with the text or the call, or text."""

    def __init__(self, answer: Answer, object_mode: int) -> None:
        keys = [(LEADING_SPACE, *literal(f'"{key}"'), LEADING_SPACE, ":") for key in (answer.text, answer.call)]
        self._scanner: Scanner[Any] = Scanner([(marker("{", ahead=keys), None)], leading_space=True)
        self._object_mode = object_mode

    def quick(self, state: State) -> Quick | None:  # noqa: ARG002 -- other modes look at it
        return None

    def step(self, run: Run, buffer: str, position: int) -> int:
        state = run.state
        hit = self._scanner.at(buffer, position, final=run.final)
        if hit is None:
            state.mode = TEXT
            return position
        if hit.end < 0:
            state.held = buffer[position:]
            return len(buffer)
        run.note("marker", buffer[position : hit.end - 1])
        state.mode, state.answer = self._object_mode, OpenAnswer(JsonState())
        return hit.end - 1

    def end(self, run: Run) -> None:
        pass


class AnswerMode:
    """Inside the object."""

    def __init__(self, answer: Answer, call_mode: int) -> None:
        self._keys = answer
        self._call_mode = call_mode

    def quick(self, state: State) -> Quick | None:
        answer = state.answer
        return _content if answer is not None and answer.in_text and state.block and not state.reasoning else None

    def step(self, run: Run, buffer: str, position: int) -> int:
        state, answer = run.state, run.state.answer
        assert answer is not None  # the mode before made it
        if state.spoiled:
            return self._leave(state, position)
        if answer.in_text:
            return self._text(run, answer, buffer, position)
        json = answer.json
        end, token = scan(json, buffer, position)
        run.note("marker", buffer[position:end])
        if token == Token.KEY:
            json.key, json.capture, json.text = decode_string(json.text), False, ""
        elif token == Token.BEGIN:
            return self._value(run, answer, buffer, end)
        elif token == Token.WHOLE:
            return self._leave(state, end)
        elif token == Token.BAD:
            run.flush()
            run.out.append(Error("malformed-call", "the answer is no JSON object"))
            return self._leave(state, end)
        return end

    def _value(self, run: Run, answer: OpenAnswer, buffer: str, position: int) -> int:
        """Begin a value of the object."""
        first = buffer[position]
        if answer.json.key == self._keys.text and first == '"':
            run.note("marker", first)
            answer.in_text = True
            return position + 1
        if answer.json.key == self._keys.call and first == "{":
            answer.json.phase = Phase.AFTER  # the mode of the call reads it
            run.state.origin, run.state.spoiled = TEXT, False
            open_call(run.state, self._call_mode, "", bare=False)
        return position

    def _text(self, run: Run, answer: OpenAnswer, buffer: str, position: int) -> int:
        """Send more of the text: all of it that is certain."""
        content = _CONTENT.match(buffer, position)
        assert content is not None  # the pattern matches the empty string, too
        end = content.end()
        closed = end < len(buffer) and buffer[end] == '"'
        raw = buffer[position : end if closed else len(buffer)]
        if not closed and not run.final:
            raw = raw[: certain(raw)]
        text = decode_string(raw)
        run.put(text, reasoning=False)
        if text != raw:
            run.note("coded", raw)
        end = position + len(raw)
        if closed:
            run.note("marker", '"')
            answer.in_text, answer.json.phase = False, Phase.AFTER
            return end + 1
        run.state.held = buffer[end:]
        return len(buffer)

    def _leave(self, state: State, position: int) -> int:
        state.mode, state.answer, state.spoiled = TEXT, None, False
        return position

    def end(self, run: Run) -> None:
        pass


# The mode of an answer that is one call as a whole.
#
# 1. All text is the source of the call and is read when the message ends. None of it is visible text.
# 2. An object that names no tool calls the only tool that can be meant, if there is one, else `unknown`.
# 3. The call comes even if the text is not such an object: to `unknown`, without arguments, after an `error` that gives
# the reason, and with a `problem`, so that nobody executes it.

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
        raise ValueError("the answer is no JSON object")  # noqa: TRY004 -- the source is wrong, not a type
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
        raise ValueError("the arguments are no JSON object")  # noqa: TRY004 -- the source is wrong, not a type
    return arguments
