"""Arguments as nested elements whose tags are their keys: `<city>Paris</city>`, each tag after a token of its own.

1. The tool's schema decides whether an element is a value, or the object or array of its elements. Where it is silent,
   what repeats is an array. The schema is followed down the tree. Text beside an object's elements has a key of its
   own.
2. Where the schema allows text, an element is its literal text, including tags, except for an array that the schema
   allows as well. Only outermost elements that are certain to be text are sent as they grow.
3. In an open element the end of the call counts only if the right thing follows it, or nothing, unless the answer was
   cut off there. Otherwise it is text. An element that it leaves open is left out if it is text without any tag, except
   for what was sent already: that can't be taken back. Empty arrays and objects, by the schema, stay: models forget to
   close those. Any other element breaks the call.
4. A closing that fits nothing breaks the call. After a complete parameter it is text of the element around it, which
   must be closed then.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tokenmill.events import AnyEvent, ArgumentDelta, Encoding, ToolInputDelta
from tokenmill.limits import NAME_CHARS
from tokenmill.parser.markers import OVER, Marker, Scanner, before, following, marker
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Reader, Run, Verdict, begin_growth, end_growth, grow, send_source, wants
from tokenmill.parser.run.state import OpenCall, State, looked_at
from tokenmill.parser.values.coerce import is_text
from tokenmill.parser.values.markup import arguments_of


class TreeState(msgspec.Struct, array_like=True, gc=False):
    """The position in nested elements."""

    begin: int = 0
    """Where the argument region begins."""
    tag: str = ""
    """Text of an open tag so far."""
    in_tag: int = 0
    """Kind of the open tag, a `tree.TreeToken`; 0 outside tags."""
    token: int = 0
    """Where the open tag begins."""
    stack: list[str] = []
    """Names of the open elements."""
    marks: list[tuple[bool, str, int, int]] = []
    """Each tag: whether it opens, its name, start and end."""
    complete: bool = False
    """An outermost element is complete."""
    closer: str = ""
    """Source of the marker that began the open tag, while it may turn out to be text that is sent as it grows."""
    torn: bool = False
    """Whether the open elements hold a closing that fits nothing."""


class TreeToken:
    """What a marker inside the body means. Plain numbers, as the state holds them."""

    NAMED = 0
    """A tag ends."""
    OPEN = 1
    """An element's opening tag begins; its name follows."""
    CLOSE = 2
    """An element's closing tag begins."""
    END = 3
    """The call ends with this marker, unless it closes an element."""
    STOP = 4
    """The call ends before this marker, which belongs to what surrounds it."""
    LOOSE_END = 5
    """The end of a call in an open element, without what must follow it."""


DEPTH = 128
"""Elements inside each other: anything deeper is not a call."""


class Tree(msgspec.Struct, frozen=True):
    """Nested elements."""

    open: Marker
    """Begins an element's opening tag."""
    close: Marker
    """Begins its closing tag."""
    end: Marker
    """Ends the call."""
    end_name: str
    """Name of the element that `end` would close."""
    tag_end: Marker = marker(">")
    """Ends a tag."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """Return the reader of this body."""
        return _TreeReader(self, stops)


class _TreeReader:
    encoding: Encoding = "xml"
    state_type = looked_at(TreeState)

    def __init__(self, tree: Tree, stops: Sequence[Marker]) -> None:
        self._end_name = tree.end_name
        inside = [(tree.open, TreeToken.OPEN), (tree.close, TreeToken.CLOSE)]
        behind = [*(sequence for stop in stops for sequence in following(stop)), OVER]
        ends = [(before(tree.end, behind), TreeToken.END), (tree.end, TreeToken.LOOSE_END)]
        self._inside = Scanner([*inside, *ends])
        self._first = self._inside.first
        self._between = Scanner([*inside, (tree.end, TreeToken.END), *((stop, TreeToken.STOP) for stop in stops)])
        self._tag = Scanner([(tree.tag_end, TreeToken.NAMED)])

    def begin(self, call: OpenCall) -> TreeState:
        return TreeState(begin=call.source.size)

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:
        state: TreeState = call.body
        if call.growing and rules.options.min_delta_chars:
            return None
        if state.in_tag or not state.stack or self._first in text:  # else nothing in it can be a marker
            read = self._live(state).settled(text)
            if read < 0 or (state.in_tag and len(state.tag) + read > NAME_CHARS):
                return None
            text, parser.held = text[:read], text[read:]
            if state.in_tag:
                state.tag += text
        events: list[AnyEvent] = []
        if call.growing and text and not self._leaves(state):
            events.append(ArgumentDelta(call.id, state.stack[0], text))
        if text and rules.streams_input and not call.dropped:
            events.append(ToolInputDelta(call.id, text))
        return events

    def _live(self, state: TreeState) -> Scanner[int]:
        """Return what is live in a tag, inside an element or between those of the call."""
        if state.in_tag:
            return self._tag
        return self._inside if state.stack else self._between

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        state: TreeState = call.body
        first, base, verdict = position, call.source.size - position, Verdict.MORE
        while True:
            hit = self._live(state).find(buffer, position, final=run.final)
            stop = len(buffer) if hit is None else hit.start
            if state.in_tag:
                room = NAME_CHARS - len(state.tag)
                if stop - position > room:
                    position, verdict = position + room, Verdict.FAILED
                    break
                state.tag += buffer[position:stop]
            if call.growing and not self._leaves(state):
                grow(run, call, state.stack[0], buffer[position:stop])
            position = stop
            if hit is None or hit.value is None:
                break
            edge = _sure(run, state, hit.value, buffer, hit.end)
            if edge == TreeToken.STOP or (edge == TreeToken.END and self._end_name not in state.stack[-1:]):
                send_source(run, call, buffer[first:stop])
                if _is_half(call, state):
                    return stop, Verdict.FAILED
                while call.growing:  # the call's end is that of an element of which text was sent
                    _close(state, state.stack[-1], base + stop, base + stop)
                    self._turn(run, call, state)
                return hit.end if edge == TreeToken.END else stop, Verdict.DONE
            position = hit.end
            if not self._follow(run, call, state, edge, buffer[stop:position], base + stop):
                verdict = Verdict.FAILED
                break
        send_source(run, call, buffer[first:position])
        return position, verdict

    def _leaves(self, state: TreeState) -> bool:
        """Whether the open tag closes the outermost element, so that it is not part of its text."""
        return state.in_tag == TreeToken.CLOSE and len(state.stack) == 1

    def _follow(self, run: Run, call: OpenCall, state: TreeState, edge: int, source: str, begin: int) -> bool:
        """Follow a marker of an element; False if it breaks the call."""
        end = begin + len(source)
        if edge == TreeToken.NAMED:
            return self._named(run, call, state, source, end)
        if edge in (TreeToken.END, TreeToken.LOOSE_END):
            if _close(state, self._end_name, begin, end):
                self._turn(run, call, state)
            else:
                self._tear(run, call, state, source)
            return True
        state.in_tag, state.tag, state.token = edge, "", begin
        leaves = call.growing is not None and self._leaves(state)
        state.closer = source if leaves else ""
        if call.growing and not leaves:
            grow(run, call, state.stack[0], source)
        return True

    def _named(self, run: Run, call: OpenCall, state: TreeState, source: str, end: int) -> bool:
        """Follow a tag to its end; False if it breaks the call."""
        kind, name = state.in_tag, state.tag.strip()
        if call.growing and not self._leaves(state):
            grow(run, call, state.stack[0], source)
        state.in_tag = TreeToken.NAMED
        if kind == TreeToken.OPEN:
            if not name or len(state.stack) == DEPTH:
                return False
            state.marks.append((True, name, state.token, end))
            state.stack.append(name)
        elif not _close(state, name, state.token, end):
            if not (state.complete and state.stack):
                return False
            self._tear(run, call, state, state.closer + state.tag + source if state.closer else "")
            return True
        self._turn(run, call, state)
        return True

    def _tear(self, run: Run, call: OpenCall, state: TreeState, source: str) -> None:
        """Treat what fits nothing as text of the open element."""
        state.torn = True
        if call.growing:
            grow(run, call, state.stack[0], source)

    def _turn(self, run: Run, call: OpenCall, state: TreeState) -> None:
        """Begin or end what grows, after a tag of an outermost element was read."""
        opens, name, _, _ = state.marks[-1]
        if not state.stack:
            end_growth(run, call)
        elif opens and len(state.stack) == 1 and wants(run, call, name):
            types = run.rules.types(call.name, name)
            begin_growth(call, name, bool(types) and is_text(types) is True)

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        state: TreeState = call.body
        shape, known = run.rules.shape(call.name), run.rules.knows(call.name)
        return arguments_of(call.source.text(), state.marks, shape, known=known)


def _sure(run: Run, state: TreeState, edge: int, buffer: str, end: int) -> int:
    """Return what a marker means: in an open element at which the answer was cut off it is not the call's end."""
    if edge == TreeToken.END and state.stack and run.cut and not buffer[end:].strip():
        return TreeToken.LOOSE_END
    return edge


def _is_half(call: OpenCall, state: TreeState) -> bool:
    """Whether the end of the call may be text of what is open, because that holds other markup that was text."""
    is_plain = len(state.stack) == 1 and state.marks[-1][0]
    return bool(state.stack) and (state.torn or (call.growing is not None and not is_plain))


def _close(state: TreeState, name: str, begin: int, end: int) -> bool:
    """Follow a closing tag; False if it closes nothing."""
    if state.stack[-1:] != [name]:
        return False
    state.stack.pop()
    state.complete = state.complete or not state.stack
    state.torn = state.torn and bool(state.stack)
    state.marks.append((False, name, begin, end))
    return True
