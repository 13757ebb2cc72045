"""Follows a JSON object in running text as it arrives, strictly: what can't be JSON is reported at its first character.

In prose any brace may begin an object, so nothing is skipped here. In contrast, `json_scan` reads what stands between
markers. Keys and values of the outermost object are reported; below it, nesting is only followed.

1. Each character is looked at once, except those of a number or word, of which there are few.
2. State is a `JsonState`; `text` has the raw content of a string that is wanted, or the number or word so far.
3. Escapes are not judged here: the decoder does it when the text is complete.
"""

import re
from functools import lru_cache

from tokenmill.parser.bodies.json_scan import CAPTURE_CHARS, Token, turned
from tokenmill.parser.markers import REMEMBERED, TOKEN_CHARS, end_of
from tokenmill.parser.run.state import JsonState

_CONTENT = re.compile(r'(?:[^"\\\x00-\x1f]++|\\[^\x00-\x1f])*+')
_SPACE = re.compile(r"[ \t\n\r]*+")
_BARE = re.compile(r"[-+.\w]*+")
_NUMBER_OR_WORD = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null")
_BEGUN = re.compile(
    r"-?(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]*+|(?:\.[0-9]++)?[eE][+-]?[0-9]*+)?)?"
    r"|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?"
)
"""The beginning of a number or word."""

BARE_CHARS = 128
"""Characters of one number: no tool takes a longer one."""


class Phase:
    """What is expected next. Plain numbers, as the state holds them."""

    VALUE = 0
    FIRST_VALUE = 1
    """A value, or the end of an empty array."""
    KEY = 2
    FIRST_KEY = 3
    """A key, or the end of an empty object."""
    COLON = 4
    AFTER = 5
    BARE = 6
    """More of a number or word."""
    BEGUN = 7
    """A value of the outermost object, which was reported."""


def scan(state: JsonState, buffer: str, position: int) -> tuple[int, int]:
    """Read from `position` to the next token. Return the position after it, and which token it is."""
    while position < len(buffer):
        if state.quote:
            position, token = _string(state, buffer, position)
        elif state.phase == Phase.BARE:
            position, token = _bare(state, buffer, position)
        else:
            position, token = _structure(state, buffer, position)
        if token is not None:
            return position, token
    return position, Token.MORE


def stays_in_string(state: JsonState, text: str) -> bool:
    """Read all of a short text in one step if it is only more content of the open string; else read nothing."""
    if not state.quote or state.capture or len(text) > TOKEN_CHARS:
        return False
    rest = _behind_content(f"\\{text}" if state.escaped else text)
    if rest not in ("", "\\"):
        return False
    state.escaped = bool(rest)
    return True


@lru_cache(REMEMBERED)
def _behind_content(text: str) -> str:
    return text[end_of(_CONTENT, text) :]


def _string(state: JsonState, buffer: str, position: int) -> tuple[int, int | None]:
    begin = position
    if state.escaped:
        state.escaped = False
        if buffer[position] < " ":
            return position, Token.BAD
        position += 1
    end = end_of(_CONTENT, buffer, position)
    if end < len(buffer) and buffer[end] == "\\":  # the buffer ends in it, or what follows can't be escaped
        state.escaped = True
        end += 1
    if state.capture:
        state.text += buffer[begin:end]
        if len(state.text) > CAPTURE_CHARS:
            state.capture, state.text = False, state.text[: CAPTURE_CHARS + 1]
    if end == len(buffer) or state.escaped:
        return end, None
    if buffer[end] != '"':
        return end, Token.BAD
    state.quote = ""
    if state.phase == Phase.KEY:
        state.phase = Phase.COLON
        return end + 1, Token.KEY if len(state.stack) == 1 else None
    return _ended(state, end + 1)


def _ended(state: JsonState, position: int) -> tuple[int, int | None]:
    """Follow the end of a value before `position`."""
    state.phase = Phase.AFTER
    if not state.stack:
        return position, Token.WHOLE
    return position, Token.END if len(state.stack) == 1 else None


def _bare(state: JsonState, buffer: str, position: int) -> tuple[int, int | None]:
    end = end_of(_BARE, buffer, position)
    for at in range(position, end):
        state.text += buffer[at]
        if len(state.text) > BARE_CHARS or not _BEGUN.fullmatch(state.text):
            return at, Token.BAD
    if end == len(buffer):
        return end, None
    if not _NUMBER_OR_WORD.fullmatch(state.text):
        return end, Token.BAD
    state.text = ""
    return _ended(state, end)


def _structure(state: JsonState, buffer: str, position: int) -> tuple[int, int | None]:
    position = end_of(_SPACE, buffer, position)
    if position == len(buffer):
        return position, None
    sign, phase = buffer[position], state.phase
    if sign in "}]":
        allowed = phase in (Phase.AFTER, Phase.FIRST_KEY if sign == "}" else Phase.FIRST_VALUE)
        stack = turned(state.stack, sign) if allowed else None
        if stack is None:
            return position, Token.BAD
        state.stack = stack
        return _ended(state, position + 1)
    if phase in (Phase.VALUE, Phase.FIRST_VALUE, Phase.BEGUN):
        return _begin(state, sign, position)
    if phase in (Phase.KEY, Phase.FIRST_KEY) and sign == '"':
        state.phase, state.quote, state.text = Phase.KEY, sign, ""
        state.capture = len(state.stack) == 1
    elif phase == Phase.COLON and sign == ":":
        state.phase = Phase.VALUE
    elif phase == Phase.AFTER and sign == ",":
        state.phase = Phase.KEY if state.stack[-1] == "{" else Phase.VALUE
    else:
        return position, Token.BAD
    return position + 1, None


def _begin(state: JsonState, sign: str, position: int) -> tuple[int, int | None]:
    if state.phase == Phase.VALUE and len(state.stack) == 1:
        state.phase = Phase.BEGUN
        return position, Token.BEGIN
    if sign in "{[":
        stack = turned(state.stack, sign)
        if stack is None:
            return position, Token.BAD
        state.stack = stack
        state.phase = Phase.FIRST_KEY if sign == "{" else Phase.FIRST_VALUE
        return position + 1, None
    if sign == '"':
        state.quote = sign
        return position + 1, None
    state.phase, state.text = Phase.BARE, ""
    return position, None
