"""Follows a JSON text as it arrives, without building a value: the structure that a streaming reader needs.

1. Each character is looked at once. Strings and deep nesting are skipped by one search for what ends them.
2. Down to `depth` levels of nesting the scanner reports keys, and where values begin and end. Below that it only
   counts.
3. It is lenient: what is not JSON is skipped, and the decoder judges the whole text at its end. Only a bracket that
   closes another kind of bracket is an error here. Single quotes open strings, too, and slashes comments: valid JSON
   never has them outside strings.
4. `stops` are markers that end the text outside strings. The scanner reports characters that can begin one. The caller
   looks at them and, where they don't begin a marker, continues with `passed` at their position.
5. From the first string in single quotes on, each string is Python's, as for its decoder: see `repair.Spelling`.
6. In a `strict` text only a separator, a closing bracket, a comment or a stop may follow a string. Anything else shows
   that a quote is missing.
7. While `capture` is set, raw string content is added to `text`; the caller takes it from there.
"""

import re
from functools import lru_cache

from tokenmill.limits import JSON_DEPTH, NAME_CHARS
from tokenmill.parser.markers import REMEMBERED, TOKEN_CHARS, Scanner, end_of
from tokenmill.parser.run.state import JsonState
from tokenmill.parser.values.repair import Spelling

OPENERS = {")": "(", "]": "[", "}": "{"}
"""Closing bracket → opening one."""


def turned(stack: str, bracket: str, most: int = JSON_DEPTH) -> str | None:
    """Return the open brackets after this one; None if it closes another kind, or if there are more than `most`."""
    if bracket in "([{":
        return stack + bracket if len(stack) < most else None
    return stack[:-1] if stack[-1:] == OPENERS.get(bracket) else None


CONTENT = {
    '"': re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL),
    "'": re.compile(r"(?:[^'\\]++|\\.)*+", re.DOTALL),
}
_FOLLOWERS = frozenset(",:]}/")
"""What may follow a string; a slash begins a comment."""
_CLOSED = {
    quote: re.compile(rf"{content.pattern}(?:({quote})(?=[,:\]}}/]))?", re.DOTALL) for quote, content in CONTENT.items()
}
"""Content of a string, and its quote as a group if a character that may follow a string comes right after it."""
COMMENTS = "/\n*"
"""The value of `quote` inside a comment: the slash that may begin one, then the kind's end or its first character."""

_NOT_SPACE = re.compile(r"\S")
_COMMENT_ENDS = {"\n": re.compile(r"[\n\r]"), "*": re.compile(r"\*/")}

CAPTURE_CHARS = 6 * NAME_CHARS
"""Characters of a captured key or name after which no more is added: each may be a six-character escape."""


class Phase:
    """What is expected next. Plain numbers, as the state holds them."""

    VALUE = 0
    BEGUN = 1
    SCALAR = 2
    KEY = 3
    BARE_KEY = 4
    COLON = 5
    AFTER = 6
    DEEP = 7


class Token:
    """What a scanner stopped at. Plain numbers: access to an enumeration's member costs as much as a whole chunk."""

    MORE = 0
    """The end of the buffer."""
    KEY = 1
    """A key is complete: its raw text is in `text`."""
    BEGIN = 2
    """A value begins at this position; its first character is not read yet."""
    END = 3
    """A value ended before this position."""
    WATCHED = 4
    """A watched character stands here, outside strings."""
    BAD = 5
    """Something that can't stand here: a wrong bracket, nesting that is too deep, or what can't follow a string."""
    WHOLE = 6
    """The outermost object ended before this position."""


class JsonScan:
    """A scanner for one kind of body."""

    __slots__ = ("_deep", "_depth", "_key_end", "_scalar_end", "_stops", "_watched")

    def __init__(self, depth: int, stops: Scanner[None]) -> None:
        signs = re.escape(stops.firsts)
        self._depth = depth
        self._stops = stops
        self._watched = stops.firsts
        self._deep = re.compile(f"[\"'/{{}}\\[\\]{signs}]")
        self._scalar_end = re.compile(f"[,/\\]}}{signs}]")
        self._key_end = re.compile(f"[:,/}}{signs}]")

    def step(self, state: JsonState, buffer: str, position: int, passed: int = -1) -> tuple[int, int]:
        """Read from `position` to the next token. Return the position after it, and which token it is.

        `passed` is the position of a watched character that does not begin a marker.
        """
        while position < len(buffer):
            if state.quote in CONTENT:
                position, token = self._string(state, buffer, position)
            elif state.quote:
                position, token = comment(state, buffer, position), None
            elif state.escaped:
                position, token = self._after_string(state, buffer, position)
            elif state.phase == Phase.DEEP:
                position, token = self._nested(state, buffer, position, passed)
            elif state.phase in (Phase.SCALAR, Phase.BARE_KEY):
                position, token = self._bare(state, buffer, position, passed)
            else:
                position, token = self._structure(state, buffer, position, passed)
            if token is not None:
                return position, token
        return position, Token.MORE

    def stays(self, state: JsonState, text: str) -> bool:
        """Read all of a short text in one step if no key or reported value begins or ends in it; else nothing."""
        quote = state.quote
        if quote in CONTENT and quote not in text and text[-1] != "\\":  # nothing in it matters
            state.escaped = False
            return True
        if len(text) > TOKEN_CHARS:
            return False
        if quote in CONTENT:
            inside = in_string(f"{quote}\\{text}" if state.escaped else quote + text)
            if inside is not None:
                state.escaped = inside
                return True
        elif state.phase != Phase.DEEP or text[0] == "/":  # the meaning of a slash may depend on what precedes it
            return False
        move = _known(self, text, state.stack, state.phase, quote, state.escaped, state.strict)
        if move is None:
            return False
        state.stack, state.quote, state.escaped, spelling = move
        if state.spelling == Spelling.JSON:
            state.spelling = spelling
        return True

    def _string(self, state: JsonState, buffer: str, position: int) -> tuple[int, int | None]:
        begin = position
        if state.escaped:
            state.escaped = False
            position += 1
        content = _CLOSED[state.quote].match(buffer, position)
        assert content is not None  # the pattern matches the empty string, too
        end = content.end()
        if content.lastindex:
            end -= 1
        elif end < len(buffer) and buffer[end] == "\\":  # the buffer ends inside an escape
            state.escaped = True
            end += 1
        if state.capture and len(state.text) <= CAPTURE_CHARS:
            state.text += buffer[begin:end]
        if end == len(buffer):
            return end, None
        state.quote = ""
        state.escaped = state.strict and content.lastindex is None
        if state.phase == Phase.DEEP:
            return end + 1, None
        if state.phase == Phase.KEY:
            state.phase = Phase.COLON
            return end + 1, Token.KEY
        state.phase = Phase.AFTER
        return end + 1, Token.END

    def _after_string(self, state: JsonState, buffer: str, position: int) -> tuple[int, int | None]:
        """Check the first character after a string that is not white space."""
        found = _NOT_SPACE.search(buffer, position)
        if found is None:
            return len(buffer), None
        sign = found.group()
        state.escaped = False
        return found.start(), None if sign in _FOLLOWERS or sign in self._watched else Token.BAD

    def _find(self, signs: re.Pattern[str], state: JsonState, buffer: str, position: int) -> re.Match[str] | None:  # noqa: ARG002 -- a scanner of words needs it
        """Find the next character that means something outside strings."""
        return signs.search(buffer, position)

    def _nested(self, state: JsonState, buffer: str, position: int, passed: int) -> tuple[int, int | None]:
        found = self._find(self._deep, state, buffer, position)
        if found is None:
            return len(buffer), None
        position = found.start()
        character = buffer[position]
        if character in self._watched and position != passed:
            return position, Token.WATCHED
        if character in "{}[]":
            return self._turn(state, character, position)
        if character in "\"'/":
            _open(state, character)
        return position + 1, None

    def _bare(self, state: JsonState, buffer: str, position: int, passed: int) -> tuple[int, int | None]:
        is_key = state.phase == Phase.BARE_KEY
        signs = self._key_end if is_key else self._scalar_end
        found = self._find(signs, state, buffer, position + (position == passed))
        end = found.start() if found else len(buffer)
        if state.capture and len(state.text) <= CAPTURE_CHARS:
            state.text += buffer[position:end]
        if found is None:
            return end, None
        if buffer[end] in self._watched:
            return end, Token.WATCHED
        if is_key:
            state.text = state.text.rstrip()
        state.phase = Phase.COLON if is_key else Phase.AFTER
        return end, Token.KEY if is_key else Token.END

    def _structure(self, state: JsonState, buffer: str, position: int, passed: int) -> tuple[int, int | None]:
        found = _NOT_SPACE.search(buffer, position)
        if found is None:
            return len(buffer), None
        position, character, phase = found.start(), found.group(), state.phase
        if character in self._watched and position != passed:
            return position, Token.WATCHED
        if character in "}]" and phase != Phase.BEGUN:
            return self._turn(state, character, position)
        if phase == Phase.VALUE and character not in ",/":
            state.phase = Phase.BEGUN
            return position, Token.BEGIN
        if phase == Phase.BEGUN or (phase == Phase.KEY and character not in ",/{["):
            return self._begin(state, character, position)
        return self._separator(state, phase, character, position), None

    def _separator(self, state: JsonState, phase: int, character: str, position: int) -> int:
        if character == "/":
            _open(state, character)
            return position + 1
        after = Phase.KEY if phase == Phase.AFTER and state.stack[-1:] == "{" else Phase.VALUE
        if character in "\"'{[":  # the separator is missing: nesting must still be followed
            state.phase = after
            return position
        if (phase == Phase.COLON and character == ":") or (phase == Phase.AFTER and character == ","):
            state.phase = after
        return position + 1

    def _begin(self, state: JsonState, character: str, position: int) -> tuple[int, int | None]:
        """Begin a value that was reported, or a key."""
        is_key = state.phase == Phase.KEY
        if is_key:
            state.capture, state.text = True, ""
        if character in "{[":
            return self._turn(state, character, position)
        if character in "\"'":
            _open(state, character)
            return position + 1, None
        state.phase = Phase.BARE_KEY if is_key else Phase.SCALAR
        return position, None

    def _turn(self, state: JsonState, bracket: str, position: int) -> tuple[int, int | None]:
        """Follow a bracket."""
        stack = turned(state.stack, bracket)
        if stack is None:
            return position, Token.BAD
        closes, state.stack = len(stack) < len(state.stack), stack
        if len(stack) > self._depth:
            state.phase = Phase.DEEP
            return position + 1, None
        state.phase = Phase.AFTER if closes else Phase.KEY if bracket == "{" else Phase.VALUE
        return position + 1, Token.END if closes else None


@lru_cache(REMEMBERED)
def in_string(opened: str) -> bool | None:
    """Whether this part of a string, its quote included, ends after an escaping backslash; None if the string ends."""
    rest = opened[end_of(CONTENT[opened[0]], opened, 1) :]
    return bool(rest) if rest in ("", "\\") else None


@lru_cache(REMEMBERED)
def _known(
    scan: JsonScan,
    text: str,
    stack: str,
    phase: int,
    quote: str,
    escaped: bool,  # noqa: FBT001 -- keys of the cache, as the next
    strict: bool,  # noqa: FBT001 -- as above
) -> tuple[str, str, bool, int] | None:
    """Return the brackets, quote, escape and spelling after a chunk; None if something in it must be reported."""
    state = JsonState(stack=stack, phase=phase, quote=quote, escaped=escaped, strict=strict)
    _, token = scan.step(state, text, 0)
    if token != Token.MORE or state.phase != phase or state.capture:
        return None
    return state.stack, state.quote, state.escaped, state.spelling


def _open(state: JsonState, quote: str) -> None:
    """Open a string or, after a slash, what may be a comment.

    If no other reading is fixed, a string in single quotes is Python's, and so are those after it.
    """
    state.quote, state.escaped = quote, quote == "/"
    if quote == "'" and state.spelling == Spelling.JSON:
        state.spelling = Spelling.PYTHON


def comment(state: JsonState, buffer: str, position: int) -> int:
    """Read on inside a comment, or after a slash that may begin one."""
    if state.quote == "/":
        state.escaped = False
        kind = buffer[position]
        state.quote = {"/": "\n", "*": "*"}.get(kind, "")
        return position + 1 if state.quote else position
    if state.escaped and buffer[position] == "/":  # the star came before
        state.quote, state.escaped = "", False
        return position + 1
    found = _COMMENT_ENDS[state.quote].search(buffer, position)
    state.escaped = found is None and state.quote == "*" and buffer[-1] == "*"
    state.quote = state.quote if found is None else ""
    return len(buffer) if found is None else found.end()
