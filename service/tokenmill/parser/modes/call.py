"""The mode inside a call: its header, then its body."""

import re
from collections.abc import Sequence
from enum import Enum
from html import unescape
from typing import Literal, NamedTuple, TypeAlias

from tokenmill.events import AnyEvent, ErrorCode
from tokenmill.limits import KIB, NAME_CHARS, Limits
from tokenmill.parser.markers import INNER_CHARS, Marker, Scanner, plain_members
from tokenmill.parser.modes.section import keep_body
from tokenmill.parser.modes.text import UNPARSED, Quick, give_back, limit
from tokenmill.parser.run.rules import TEXT, Rules
from tokenmill.parser.run.run import Reader, Run, Verdict, begin, complete, fail
from tokenmill.parser.run.state import BLOCK_PIECES, OpenCall, Rest, State
from tokenmill.parser.spec import Bare, Header

HEADER_CHARS = 2 * NAME_CHARS
"""Characters of a header before it stops being one: a name, an id, and words around them."""

PART_CHARS = 16 * KIB
"""Characters of a long text that a body gets at once: if it gives up early, it has not received all of the text."""

_WORD = r"""[^\s<>{}()\[\]"'`,;=|\\]+"""
_NAME = re.compile(rf"{_WORD}(?: {_WORD})*")
"""What a bare name between markers looks like: not JSON, a call or lines of text, unless a tool has such a name."""

MARKER_CHARS = 2 * INNER_CHARS
"""More characters than the longest marker with all that may stand inside it."""


Ends: TypeAlias = Literal["unmarked", "section", "marked"]
"""What closes a call that can't be read, so that its source ends there: only what could not stand in it, or what closes
its section, or a marker of its own."""


@plain_members
class HeaderEnd(Enum):
    """What ends a header."""

    UNTIL = "a marker that belongs to it"
    BEFORE = "one that belongs to the body"
    BROKEN = "one that no header contains, so that this was not one"


class Headed(NamedTuple):
    """A call's header, and the markers that no header holds: they show that it was not a header."""

    header: Header
    beyond: Sequence[Marker] = ()


class CallMode:
    """Inside one kind of call."""

    def __init__(
        self,
        section: int,
        reader: Reader,
        headed: Headed | None,
        limits: Limits,
        *,
        bare: Bare,
        block: int = TEXT,
        again: Marker | None = None,
        closed_by: Ends = "unmarked",
    ) -> None:
        self._section = section
        self._block = block
        """The mode of a block of text, where a call turns out to open one."""
        self._closed_by = closed_by
        """What closes a call that fails."""
        self._declared_only = bare == "declared"
        """Whether a call outside its section must name a declared tool."""
        self._again = again
        """The opening of a section that may be repeated as a whole."""
        self._reader = reader
        self._quick_body = reader.quick
        self.body_type = reader.state_type
        """What the body keeps of an open call."""
        self._call_chars = limits.call_chars
        header = headed.header if headed else None
        self._pattern = re.compile(header.pattern, re.DOTALL) if header else None
        self._header_end = Scanner(_ends(headed))
        self._unescape = unescape if header and header.unescape else str
        # Made once, as every open call keeps one of them.
        self._in_body: Quick = self._content
        self._in_header: Quick = self._more_header

    def quick(self, state: State) -> Quick | None:
        assert state.call is not None
        if state.call.body is not None:
            return self._in_body
        return self._in_header if self._pattern is not None else None

    def _content(self, rules: Rules, state: State, text: str) -> list[AnyEvent] | None:
        """Read more of the body."""
        call: OpenCall = state.call  # type: ignore[assignment] # -- the hottest path: the mode is that of a call
        source = call.source
        total = source.size + len(text)
        if total > self._call_chars:
            return None
        events = self._quick_body(rules, state, call, text)
        if events is None:
            return None
        if state.held:
            total -= len(state.held)
            text = text[: len(text) - len(state.held)]
            if not text:
                return events
        source.size = total  # as `add` does, without the cost of calling it for each chunk
        pieces = source.pieces
        pieces.append(text)
        if len(pieces) >= BLOCK_PIECES:
            source.fold()
        return events

    def _more_header(self, rules: Rules, state: State, text: str) -> list[AnyEvent] | None:  # noqa: ARG002 -- a `Quick`
        """Return no events, if the chunk is more of the header."""
        call: OpenCall = state.call  # type: ignore[assignment] # -- as above
        if call.source.size + len(text) > self._call_chars or len(call.header) + len(text) > HEADER_CHARS:
            return None
        if self._header_end.doubt(text):
            return None
        call.header += text
        call.source.add(text)
        return []

    def step(self, run: Run, buffer: str, position: int) -> int:
        call = run.state.call
        assert call is not None
        if call.body is None:
            if self._pattern is not None:
                return self._header(run, call, buffer, position)
            call.body = self._reader.begin(call)
        room = max(0, self._call_chars - call.source.size)
        if len(buffer) > PART_CHARS:
            return position + self._part(run, call, buffer, position, room)
        return self._rest(run, call, buffer, position, room)

    def _part(self, run: Run, call: OpenCall, buffer: str, position: int, room: int) -> int:
        """Read on in a long text, of which `room` characters may be the call's. Return how many were read."""
        size = PART_CHARS
        while size < min(len(buffer) - position, room):
            read = self._beginning(run, call, buffer[position : position + size])
            if read or run.state.call is not call:
                return read
            size *= 2  # all of it waits for what follows
        return self._rest(run, call, buffer[position:], 0, room)

    def _rest(self, run: Run, call: OpenCall, buffer: str, position: int, room: int) -> int:
        """Read to the end of the buffer, or as far as the call may go. Return the position read to."""
        if len(buffer) - position <= room:
            return self._body(run, call, buffer, position)
        read = self._beginning(run, call, buffer[position : position + room])
        if run.state.call is call:
            limit(run, f"a call is longer than {self._call_chars} characters")
        return position + read

    def _beginning(self, run: Run, call: OpenCall, text: str) -> int:
        """Read text that is followed by more. Return how much was read; a body must not take its end for the
        stream's.
        """
        final, run.final = run.final, False
        read = self._body(run, call, text, 0)
        run.final = final
        if run.state.call is call:
            read -= len(run.state.held)
            run.state.held = ""
        return read

    def _header(self, run: Run, call: OpenCall, buffer: str, position: int) -> int:
        room = HEADER_CHARS - len(call.header)
        if len(buffer) - position > room + MARKER_CHARS:  # the rest is not looked at: there may be many headers
            return position + self._header(run, call, buffer[position : position + room + MARKER_CHARS], 0)
        hit = self._header_end.find(buffer, position, final=run.final)
        stop = len(buffer) if hit is None else hit.start
        if stop - position > room:
            call.source.add(buffer[position : position + room])
            self._end(run, call, Verdict.TEXT)
            return position + room
        call.header += buffer[position:stop]
        if hit is None or hit.value is None:
            call.source.add(buffer[position:stop])
            run.state.held = buffer[stop:]
            return len(buffer)
        end = hit.end if hit.value is HeaderEnd.UNTIL else stop
        call.source.add(buffer[position:end])
        assert self._pattern is not None  # else there is no header to read
        self.enter(run, call, None if hit.value is HeaderEnd.BROKEN else self._pattern.fullmatch(call.header))
        return end

    def enter(self, run: Run, call: OpenCall, header: re.Match[str] | None) -> None:
        """Begin the body after a complete header, or end the call here if it is not a header."""
        verdict = self._name(run, call, header)
        if call.begun:
            call.body = self._reader.begin(call)
            call.header = ""
        if verdict is not Verdict.MORE:
            self._end(run, call, verdict)

    def _name(self, run: Run, call: OpenCall, found: re.Match[str] | None) -> Verdict:
        name = self._unescape(found["name"] or run.rules.only_tool) if found else ""
        if found is None or not name or len(name) > NAME_CHARS:
            meant = not call.bare or (not self._declared_only and call.header.lstrip().startswith("{"))
            return Verdict.FAILED if meant else Verdict.TEXT
        if self._unescape is str and not _NAME.fullmatch(name) and not run.rules.declares(name):
            return Verdict.TEXT if call.bare and self._declared_only else Verdict.FAILED
        if call.bare and self._declared_only and not run.rules.declares(name):
            return Verdict.TEXT
        groups = found.groupdict()
        short = self._unescape(groups.get("short") or "")
        if short and run.rules.declares(short) and not run.rules.declares(name):
            name = short
        verdict = begin(run, call, name, groups.get("id") or "", self._reader.encoding)
        return Verdict.DONE if verdict is Verdict.MORE and groups.get("whole") else verdict

    def _body(self, run: Run, call: OpenCall, buffer: str, position: int) -> int:
        stop, verdict = self._reader.step(run, call, buffer, position)
        call.source.add(buffer[position:stop])
        if verdict is Verdict.MORE:
            if stop < len(buffer):
                run.state.held = buffer[stop:]
            return len(buffer)
        self._end(run, call, verdict)
        return stop

    def _end(self, run: Run, call: OpenCall, verdict: Verdict) -> None:
        state = run.state
        if verdict is Verdict.LIMIT:
            limit(run, f"there are more than {run.rules.limits.calls} calls")
            return
        state.call = None
        if verdict is Verdict.BLOCK:
            run.close_block()
            run.note("marker", call.source.text())
            state.mode = self._block
            return
        state.mode = self._section
        problem = "this is not the grammar of a call"
        if verdict is Verdict.DONE:
            try:
                arguments, repaired = self._reader.result(run, call)
            except ValueError as error:
                problem = str(error)
            else:
                complete(run, call, arguments, repaired=repaired)
                if self._again:
                    keep_body(state, call.source.text(), self._again)
                state.answered, state.spoiled, state.origin = True, False, run.rules.behind(state.origin)
                state.mode = UNPARSED if run.rules.first_call_only else state.mode
                return
        if verdict is not Verdict.TEXT:
            fail(run, call, "malformed-call", problem)
        state.spoiled = True
        if verdict is not Verdict.TEXT and (
            self._closed_by == "marked" or (self._closed_by == "section" and not call.bare)
        ):
            state.rest = Rest(call.bare, whole=verdict is Verdict.DONE)
        give_back(run, call.source.text(), None if verdict is Verdict.TEXT else "malformed-call", call)
        if call.bare and state.rest is None:
            state.mode = state.origin

    def end(self, run: Run) -> None:
        state = run.state
        call, state.call = state.call, None
        assert call is not None
        is_text = call.doubtful or (call.name and not call.begun)  # its name made it text
        code: ErrorCode | None = None if is_text else "unfinished-call"
        if code:
            fail(run, call, code, "the stream ended inside the call")
        give_back(run, call.source.text(), code, call)
        state.mode = state.origin


def _ends(headed: Headed | None) -> list[tuple[Marker, HeaderEnd]]:
    """Return what ends a header."""
    if headed is None:
        return []
    header, beyond = headed
    own = [(header.until, HeaderEnd.UNTIL), *([(header.before, HeaderEnd.BEFORE)] if header.before else ())]
    return [*own, *((mark, HeaderEnd.BROKEN) for mark in beyond)]
