"""The modes of an answer that is one JSON object, in which the text is a string and the call an object.

1. The first key decides: where it is neither the text's nor the call's, the answer is text, and so is one that does not
   begin with an object. White space in front of the object belongs to it.
2. The text is sent decoded, as it grows; half an escape is held back. The call is one as in any other format.
3. The values of other keys say nothing. What stands behind the object is text.
4. From the first thing on that can't be JSON, and behind a call that failed, all is text.
"""

import re
from typing import Any

from tokenmill.events import AnyEvent, Error, TextDelta
from tokenmill.parser.bodies.json_reading import certain
from tokenmill.parser.bodies.json_scan import Token
from tokenmill.parser.bodies.strict_scan import Phase, scan
from tokenmill.parser.markers import LEADING_SPACE, Scanner, literal, marker
from tokenmill.parser.modes.text import Quick, open_call
from tokenmill.parser.run.rules import TEXT, Rules
from tokenmill.parser.run.run import Run
from tokenmill.parser.run.state import JsonState, OpenAnswer, State
from tokenmill.parser.spec import Answer
from tokenmill.parser.values.repair import decode_string

_CONTENT = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL)


def _content(rules: Rules, state: State, text: str) -> list[AnyEvent] | None:  # noqa: ARG001 -- a `Quick`
    """More of the string that is the answer's text."""
    return None if '"' in text or "\\" in text else [TextDelta(state.block, text)]


class LeadMode:
    """In front of the answer: an object with the text or the call, or text."""

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
        assert answer is not None  # the mode in front made it
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
        """A value of the object begins."""
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
        """More of the text: all of it that is certain."""
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
