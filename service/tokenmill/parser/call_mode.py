"""The mode inside a call: its header, then its body."""

import re
from html import unescape
from typing import TYPE_CHECKING

from tokenmill.events import AnyEvent, ErrorCode
from tokenmill.limits import NAME_CHARS, Limits
from tokenmill.parser.bodies.base import Reader
from tokenmill.parser.calls import Verdict, begin, complete, fail
from tokenmill.parser.markers import INNER_CHARS, Marker, Scanner
from tokenmill.parser.modes import TEXT, UNPARSED, give_back, limit
from tokenmill.parser.run import Run
from tokenmill.parser.spec import Bare, Header
from tokenmill.parser.state import BLOCK_PIECES, OpenCall, State

if TYPE_CHECKING:
    from tokenmill.parser.grammar import Grammar

HEADER_CHARS = 2 * NAME_CHARS
"""A header before it stops being one: a name, an id, and words around them."""

MARKER_CHARS = 2 * INNER_CHARS
"""More than the longest marker with all that may stand inside of it."""


class CallMode:
    """Inside one kind of call."""

    def __init__(
        self, section: int, reader: Reader, header: Header | None, limits: Limits, *, bare: Bare, block: int = TEXT
    ) -> None:
        self._section = section
        self._block = block
        """The mode of a block of text that a call turned out to open."""
        self._declared_only = bare == "declared"
        """Outside of its section, a call must name a declared tool."""
        self._reader = reader
        self._quick_body = reader.quick
        self._call_chars = limits.call_chars
        self._delta_chars = limits.delta_chars
        self._pattern = re.compile(header.pattern, re.DOTALL) if header else None
        ends: list[tuple[Marker, bool]] = []
        if header:
            ends = [(header.until, True), *([(header.before, False)] if header.before else ())]
        self._header_end = Scanner(ends)
        self._unescape = unescape if header and header.unescape else str

    def quick(self, grammar: "Grammar", state: State, text: str) -> list[AnyEvent] | None:
        call: OpenCall = state.call  # type: ignore[assignment] # -- the hottest path: the mode is that of a call
        source, size = call.source, len(text)
        total = source.size + size
        if size > self._delta_chars or total > self._call_chars:
            return None
        if call.body is None:
            return self._quick_header(call, text)
        events = self._quick_body(grammar, state, call, text)
        if events is None:
            return None
        if state.held:
            total -= len(state.held)
            text = text[: size - len(state.held)]
            if not text:
                return events
        source.size = total  # as `add` does, without the cost of calling it for each chunk
        pieces = source.pieces
        pieces.append(text)
        if len(pieces) >= BLOCK_PIECES:
            source.fold()
        return events

    def _quick_header(self, call: OpenCall, text: str) -> list[AnyEvent] | None:
        """No events, if the chunk is more of the header."""
        if self._pattern is None or len(call.header) + len(text) > HEADER_CHARS or self._header_end.doubt(text):
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
        room = self._call_chars - call.source.size
        if len(buffer) - position <= room:
            return self._body(run, call, buffer, position)
        room = max(0, room)
        final, run.final = run.final, False  # there is more of it: the cap is no end that a body may take for its own
        stop = self._body(run, call, buffer[: position + room], position)
        run.final = final
        if run.state.call is call:
            stop -= len(run.state.held)
            run.state.held = ""
            limit(run, f"a call is longer than {self._call_chars} characters")
        return stop

    def _header(self, run: Run, call: OpenCall, buffer: str, position: int) -> int:
        room = HEADER_CHARS - len(call.header)
        if len(buffer) - position > room + MARKER_CHARS:  # what is behind is not looked at: there may be many headers
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
        end = hit.end if hit.value else stop
        call.source.add(buffer[position:end])
        assert self._pattern is not None  # else there is no header to read
        self.enter(run, call, self._pattern.fullmatch(call.header))
        return end

    def enter(self, run: Run, call: OpenCall, header: re.Match[str] | None) -> None:
        """The header is complete, or is none: the body begins, or the call ends here."""
        verdict = self._name(run, call, header)
        if call.begun:
            call.body = self._reader.begin(call)
            call.header = ""
        if verdict is not Verdict.MORE:
            self._end(run, call, verdict)

    def _name(self, run: Run, call: OpenCall, found: re.Match[str] | None) -> Verdict:
        if found is None or len(name := self._unescape(found["name"])) > NAME_CHARS:
            return Verdict.FAILED if not call.bare else Verdict.TEXT
        if call.bare and self._declared_only and not run.grammar.declares(name):
            return Verdict.TEXT
        groups = found.groupdict()
        short = self._unescape(groups.get("short") or "")
        if short and run.grammar.declares(short) and not run.grammar.declares(name):
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
            limit(run, f"there are more than {run.grammar.limits.calls} calls")
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
                state.answered, state.spoiled, state.origin = True, False, TEXT
                state.mode = UNPARSED if run.grammar.first_call_only else state.mode
                return
        if verdict is not Verdict.TEXT:
            fail(run, call, "malformed-call", problem)
        state.spoiled = True
        give_back(run, call.source.text(), None if verdict is Verdict.TEXT else "malformed-call", call)
        if call.bare:
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
