"""Calls as relaxed JSON between tags set by options, as a middleware of the AI SDK asks for them in its prompt.

1. All that stands between the tags is the call, and it is read as a whole at the closing tag. What is broken or cut off
   before it comes out as text, tags included. Tags in strings and in comments are content; so are tags that could be a
   key or a word, where JSON continues.
2. As long as the text is an object that keeps to the grammar, name and arguments are followed as they arrive. Any other
   text is followed only to the closing tag, and judged there.
3. The JSON is relaxed, with words for strings: a slash in a word does not begin a comment. One bracket or one closing
   tag too many is repaired, and so are quotes inside strings if only one reading is possible. Each entry of a list is a
   call. Without a name, with arguments other than an object, or with text around it the call is broken.
4. Another opening tag ends a complete call to a declared tool, and breaks any other.
5. Arguments are made to fit the tool's schema (see `conform`).
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from tokenmill.errors import BadOpen
from tokenmill.events import AnyEvent
from tokenmill.formats.notations import json_history
from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies.json_body import JsonCall, JsonReader, Reading, check_arguments
from tokenmill.parser.bodies.json_scan import COMMENTS, CONTENT, JsonScan, Phase, comment
from tokenmill.parser.markers import Marker, Scanner, marker
from tokenmill.parser.options import Options
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Reader, Run, Verdict, begin, complete
from tokenmill.parser.run.state import JsonState, OpenCall, Source, State, looked_at
from tokenmill.parser.spec import Call, Format, Section
from tokenmill.parser.values.conform import keeps_text
from tokenmill.parser.values.repair import Spelling, decode_json, escaped, nested_too_deep


class TaggedJsonState(JsonState, array_like=True, gc=False):
    """The position in a call between tags."""

    first: int = 0
    """Where the text between the tags begins in the call's source."""
    stop: int = -1
    """Where it ends, once it has."""
    whole: int = -1
    """Where its object ends, once it has."""
    loose: bool = False
    """Whether only the next tag is searched for."""
    before: str = ""
    """The character before the last slash or quote with which a chunk began."""


def is_word(state: JsonState, buffer: str, position: int) -> bool:
    """Whether the character before a position belongs to a word; `before` is the one before the buffer."""
    before = state.before if isinstance(state, TaggedJsonState) else ""
    last = buffer[position - 1] if position else before
    return last.isalpha() or last in ("_", "$", "/")


class WordScan(JsonScan):
    """A scanner that skips slashes in words."""

    __slots__ = ()

    def _find(self, signs: re.Pattern[str], state: JsonState, buffer: str, position: int) -> re.Match[str] | None:
        found = signs.search(buffer, position)
        while found is not None and found.group() == "/" and is_word(state, buffer, found.start()):
            found = signs.search(buffer, found.end())
        return found


_TAIL = re.compile(r"\s*+\}?\s*+(?:</[\w:.-]++>\s*+)?\Z")
"""What may follow the object: one bracket too many, and a closing tag of another kind."""

_KEYS = JsonCall(arguments=("arguments",))


class _Tags(NamedTuple):
    """Tags that are searched for, with whether they close, and the characters that begin one, a string or a comment."""

    scanner: Scanner[bool]
    signs: re.Pattern[str]


class TaggedJson(msgspec.Struct, frozen=True):
    """All text between two tags. The opening tag has been read."""

    open: Marker
    """Begins a call; inside a call it ends or breaks that."""
    close: Marker
    """Ends the call."""

    def compile(self, stops: Sequence[Marker]) -> Reader:  # noqa: ARG002 -- only its own tags end it
        """Return the reader of this body."""
        return _TaggedReader(self)


class _TaggedReader(JsonReader):
    state_type = looked_at(TaggedJsonState)

    def __init__(self, tags: TaggedJson) -> None:
        foreign = [tag for tag in (tags.close, tags.open) if not _is_own(tag)]
        super().__init__(_KEYS, foreign)
        self._step_json = super().step  # looked up once, as it is asked for each chunk
        self._shallow = WordScan(1, self._stops)
        self._watching = WordScan(2, self._stops)
        self._behind = _tags([(tags.close, True), (tags.open, False)])
        self._instead = _tags([(tags.close, True), *((tag, False) for tag in foreign if tag == tags.open)])
        """Tags where there is no object: one that could be a part of JSON does not open another call."""

    def begin(self, call: OpenCall) -> TaggedJsonState:
        return TaggedJsonState(spelling=Spelling.WORDS, first=call.source.size)

    def _quick_end(self, parser: State, state: JsonState, text: str) -> list[AnyEvent] | None:
        assert isinstance(state, TaggedJsonState)
        tags = self._behind if state.whole >= 0 else self._instead
        if not state.loose or state.quote or not tags.scanner.begun(text):
            return None
        parser.held = text
        return []

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        state: TaggedJsonState = call.body
        first, base = position, call.source.size - position
        if buffer.startswith(("/", "'"), position):  # in a word they mean nothing
            state.before = call.source.last
        if not state.loose:
            verdict = Verdict.MORE
            if state.root or (behind := buffer[position:].lstrip())[:1] in ("", "{"):
                position, verdict = self._step_json(run, call, buffer, position)
            else:  # leading white space is skipped, also where the closing tag is some
                _let_go(state)
                position = len(buffer) - len(behind)
            if verdict is Verdict.DONE:
                state.whole = base + position
            if verdict in (Verdict.DONE, Verdict.FAILED):
                if state.phase == Phase.BEGUN and buffer[position - 1] in "\"'":  # a value that was refused
                    state.quote = buffer[position - 1]
                _let_go(state)
            if not state.loose:
                return position, verdict
        return self._follow(run, call, buffer, first, position)

    def _follow(self, run: Run, call: OpenCall, buffer: str, first: int, position: int) -> tuple[int, Verdict]:
        """Read on to the next tag that is not content."""
        state: TaggedJsonState = call.body
        tags, signs = self._behind if state.whole >= 0 else self._instead
        while position < len(buffer):
            if state.quote:
                position = _quoted(state, buffer, position)
                continue
            found = signs.search(buffer, position)
            if found is None:
                break
            position, sign = found.start(), found.group()
            hit = tags.at(buffer, position, final=run.final) if sign in tags.firsts else None
            if hit is not None:
                if hit.value is None:
                    return position, Verdict.MORE
                state.stop = call.source.size + position - first
                read = buffer[first:position]
                return (hit.end, self._closed(run, call, read)) if hit.value else (position, _cut(run, call, read))
            if sign in "\"'/" and (sign == '"' or not is_word(state, buffer, position)):
                state.quote, state.escaped = sign, sign == "/"
            position += 1
        return len(buffer), Verdict.MORE

    def _closed(self, run: Run, call: OpenCall, read: str) -> Verdict:
        """Begin the calls whose names were not followed, at the closing tag. `read` is what was read since."""
        if call.begun:
            return Verdict.DONE
        try:
            entries, repaired = _entries(run.rules, call, call.source.text() + read)
        except ValueError:
            return Verdict.DONE  # `result` will raise with the reason
        rules = run.rules
        if rules.unknown_tool == "text" and not all(rules.knows(name) for name, _ in entries):
            call.name = entries[0][0]
            return Verdict.TEXT
        if run.state.calls + len(entries) > rules.limits.calls:
            return Verdict.LIMIT
        for name, arguments in entries[:-1]:
            sibling = OpenCall(Source())
            begin(run, sibling, name, "", self.encoding)
            complete(run, sibling, rules.conformed(name, arguments), repaired=repaired)
        verdict = begin(run, call, entries[-1][0], "", self.encoding)
        return Verdict.DONE if verdict is Verdict.MORE else verdict

    def _is_text(self, reading: Reading) -> bool:
        return keeps_text(reading.run.rules.shape(reading.call.name), reading.state.argument)

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        entries, repaired = _entries(run.rules, call, call.source.text())
        name, arguments = entries[-1]
        if name != call.name:
            raise ValueError("the call names two tools")
        conformed = run.rules.conformed(name, arguments)
        return conformed, repaired or conformed != arguments


def _let_go(state: TaggedJsonState) -> None:
    """Search only for the next tag from here on, and for strings, which contain none."""
    state.loose, state.phase, state.capture, state.sending = True, Phase.AFTER, False, False


def _tags(live: Sequence[tuple[Marker, bool]]) -> _Tags:
    scanner = Scanner(live)
    return _Tags(scanner, re.compile(f"[\"'/{re.escape(scanner.firsts)}]"))


def _cut(run: Run, call: OpenCall, read: str) -> Verdict:
    """Handle another call that begins before the closing tag."""
    state: TaggedJsonState = call.body
    complete = state.whole >= 0 and not (call.source.text() + read)[state.whole :].strip()
    return Verdict.DONE if complete and call.begun and run.rules.declares(call.name) else Verdict.FAILED


def _quoted(state: JsonState, buffer: str, position: int) -> int:
    """Read on inside a string or a comment."""
    if state.quote in COMMENTS:
        return comment(state, buffer, position)
    content = CONTENT[state.quote].match(buffer, position + state.escaped)
    assert content is not None  # the pattern matches the empty string, too
    end = content.end()
    state.escaped = buffer[end : end + 1] == "\\"
    if end < len(buffer) and not state.escaped:
        state.quote = ""
    return end + 1


def _is_own(tag: Marker) -> bool:
    """Whether a tag could be a key or a word of relaxed JSON."""
    return any(text[0].isalnum() or text[0] in "_$-+./\"'" for text in tag.spellings)


def _entries(rules: Rules, call: OpenCall, source: str) -> tuple[list[tuple[str, dict[str, Any]]], bool]:
    """Return names and arguments of all calls between the tags, and whether they were repaired. Raises `ValueError`."""
    state: TaggedJsonState = call.body
    value, repaired = _decoded(source[state.first : state.stop], state.whole - state.first)
    entries = value if isinstance(value, list) else [value]
    if not entries:
        raise ValueError("there is no call between the tags")
    return [_entry(rules, entry) for entry in entries], repaired


def _decoded(body: str, whole: int) -> tuple[Any, bool]:
    """Return the JSON between the tags; `whole` is where its object ends, if that was seen."""
    text = body[:whole] if whole > 0 and _TAIL.match(body, whole) else body
    if not text.strip():
        raise ValueError("nothing stands between the tags")
    try:
        value, repaired = decode_json(text, words=True)
    except ValueError as problem:
        try:
            return read_unescaped(body), True
        except ValueError:
            raise problem from None
    return value, repaired or bool(body[len(text) :].strip())


def _entry(rules: Rules, entry: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(entry, dict):
        raise ValueError("a call is a JSON object")  # noqa: TRY004 -- the source is wrong, not a type
    name = entry.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARS:
        raise ValueError("the call names no tool")
    check_arguments(entry, _KEYS, rules.parameters(name), objects=bool(rules.tools))  # as the original without tools
    arguments = entry.get("arguments", {})
    if isinstance(arguments, str):
        arguments = decode_json(arguments, words=True)[0]
    if not isinstance(arguments, dict):
        raise ValueError("the arguments are no JSON object")  # noqa: TRY004 -- as above
    return name, arguments


# Calls with quotes that are not escaped in their strings: read if only one reading is possible.
#
# 1. The object of the call must be strict JSON around its arguments: `name`, then `arguments`, in either order.
# 2. A string ends at the first quote that is followed by the next key or by the end of the arguments.
# 3. What looks like another key inside such a string makes it ambiguous, and the call broken.

_STRING = r'"(?:[^"\\]|\\.)*+"'
_NAME = rf'"name"\s*+:\s*+(?P<name>{_STRING})'
_NAME_FIRST = re.compile(rf'\s*+\{{\s*+{_NAME}\s*+,\s*+"arguments"\s*+:\s*+\{{', re.DOTALL)
_NAME_LAST = re.compile(rf"\}}\s*+,\s*+{_NAME}\s*+\}}\s*+\Z", re.DOTALL)
_ARGUMENTS_FIRST = re.compile(r'\s*+\{\s*+"arguments"\s*+:\s*+\{')
_ENDS = re.compile(r"\}\s*+\}\s*+\Z")
_KEY = re.compile(rf"\s*+(?P<key>{_STRING})\s*+:\s*+", re.DOTALL)
_NEXT = re.compile(rf"\s*+(?:\Z|,(?=\s*+{_STRING}\s*+:))", re.DOTALL)
_AMBIGUOUS = re.compile(r',\s*+"[^"]*+"\s*+:')

_decoder = json.JSONDecoder(strict=False)


def read_unescaped(text: str) -> dict[str, Any]:
    """Return the call's object. Raises `ValueError` if it can't be read, or in more than one way."""
    name, inner = _outside(text)
    arguments: dict[str, Any] = {}
    position, size = 0, len(inner.rstrip())
    while position < size:
        key = _KEY.match(inner, position)
        if key is None:
            raise ValueError("the arguments are no JSON object")
        value, position = _value(inner, key.end())
        arguments[json.loads(key["key"], strict=False)] = value
    return {"name": json.loads(name, strict=False), "arguments": arguments}


def _outside(text: str) -> tuple[str, str]:
    """Return the literal of the name, and what stands between the brackets of the arguments."""
    if first := _NAME_FIRST.match(text):
        if end := _ENDS.search(text, first.end()):
            return first["name"], text[first.end() : end.start()]
    elif (first := _ARGUMENTS_FIRST.match(text)) and (end := _NAME_LAST.search(text, first.end())):
        return end["name"], text[first.end() : end.start()]
    raise ValueError("the call is no JSON object with name and arguments")


def _value(text: str, begin: int) -> tuple[Any, int]:
    """Return a value and the position of what follows it."""
    if text[begin : begin + 1] == '"':
        return _string(text, begin)
    try:
        value, end = _decoder.raw_decode(text, begin)
    except RecursionError:
        raise ValueError("nesting is too deep") from None
    if nested_too_deep(text[begin:end], around=2):  # the call, and its arguments
        raise ValueError("nesting is too deep")
    follows = _NEXT.match(text, end)
    if follows is None:
        raise ValueError("something stands behind a value")
    return value, follows.end()


def _string(text: str, begin: int) -> tuple[str, int]:
    quote = begin
    while (quote := text.find('"', quote + 1)) > 0:
        if _is_escaped(text, quote):
            continue
        if follows := _NEXT.match(text, quote + 1):
            return _unescaped(text[begin + 1 : quote]), follows.end()
    raise ValueError("a string does not end")


def _is_escaped(text: str, position: int) -> bool:
    """Whether an odd number of backslashes stands directly before a position."""
    first = position
    while text[first - 1] == "\\":
        first -= 1
    return (position - first) % 2 == 1


def _unescaped(content: str) -> str:
    if _AMBIGUOUS.search(content):
        raise ValueError("a quote that is not escaped may end its string or not")
    return str(json.loads(f'"{escaped(content, Spelling.WORDS)}"', strict=False))


# The format itself, whose tags the options may replace.


def _section(start: str, end: str) -> Section:
    opening = marker(start)
    return Section(
        open=None,
        close=None,
        calls=(Call(open=opening, body=TaggedJson(open=opening, close=marker(end)), tag=True),),
        bare="alone",
    )


def _configured(format_: Format, options: Options) -> Format:
    """Return the format with the tags of the options."""
    if "" in (options.start_tag, options.end_tag):
        raise BadOpen("options 'start_tag' and 'end_tag': a tag must not be empty")
    if options.start_tag is None and options.end_tag is None:
        return format_
    section = _section(options.start_tag or "<tool_call>", options.end_tag or "</tool_call>")
    return msgspec.structs.replace(format_, sections=(section,))


JSON_MIX = Format(
    name="json_mix",
    summary="Relaxed JSON with name and arguments between `<tool_call>` tags, or those of `start_tag` and `end_tag`.",
    sample=(
        'I\'ll look it up.\n<tool_call>{name: \'get_weather\', arguments: {"city": "Paris", "days": 3,}}</tool_call>'
    ),
    history=json_history(
        '<tool_call>{"name":$quoted,"arguments":$arguments}</tool_call>',
        '<tool_response>{"toolName":$quoted,"result":$json}</tool_response>',
    ),
    sections=(_section("<tool_call>", "</tool_call>"),),
    configured=_configured,
)
