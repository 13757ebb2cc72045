"""What ends a value of tagged parameters: a closing after which the call continues, not one that is content.

Values have no escape, so what looks like a closing may be content. Its surroundings decide:

1. A closing is one if the right thing follows it: the next parameter's whole tag, or the end of the call and what comes
   after that in its section. A value that begins on a line of its own also ends on one.
2. A call inside a value is content with all that belongs to it: it closes what it opened.
3. Where a model forgot a closing, the next parameter takes its place if the tool has it and it was not given yet, in
   formats whose models are known for it. So does the end of the call if nothing else follows in the stream, unless the
   answer was cut off there: more of the value would have followed.
4. Either explains a call. A call with both, closings that are content and closings that were forgotten, is broken:
   nobody knows where its values end, so it is never executed with half of one.
"""

import re
from collections.abc import Callable, Sequence
from enum import Enum
from html import unescape
from typing import Literal, TypeAlias

import msgspec

from tokenmill.limits import NAME_CHARS
from tokenmill.parser.markers import (
    OVER,
    SPACE_CHARS,
    Hit,
    Marker,
    Scanner,
    before,
    following,
    marker,
    plain_members,
    spelled,
)
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.state import OpenCall

TAG_CHARS = 2 * NAME_CHARS
"""Characters of a tag before it stops being one: a key, a type, and words around them."""

_AHEAD_CHARS = SPACE_CHARS + 2 * TAG_CHARS
"""More characters than a tag with its sides and what stands before it."""

Forgets: TypeAlias = Literal["never", "unknown", "declared", "always"]
"""Whether the next parameter may stand in for a closing: never, it is always content; if nobody knows whether the tool
has it; if the tool has it; or also if nothing is known of the tool."""


class ParamsState(msgspec.Struct, array_like=True, gc=False):
    """The position in tagged parameters."""

    begin: int = 0
    """Where the argument region begins."""
    end: int = -1
    """Where it ends, once it has."""
    key: str = ""
    """Parameter whose value is open."""
    wire_type: str = ""
    """The type that its tag gives."""
    tag: str = ""
    """Text of an open tag so far."""
    in_tag: bool = False
    value: int = -1
    """Where the open value begins; -1 between values."""
    values: list[tuple[str, str, int, int]] = []
    """Key, type on the wire, start and end of each value."""
    fresh: int = 0
    """Characters at the beginning of the growing value that may still be layout."""
    verbatim: bool = False
    """The growing value has no layout."""
    raw: bool = False
    """Inside a section of the open value in which only its end is a marker."""
    tail: str = ""
    """The end of the growing value, which may be layout."""
    given: dict[str, bool] = {}
    """The parameters received so far, as keys."""
    lined: bool = False
    """The open value begins on a line of its own."""
    led: bool = False
    """The last marker in it was the opening of a call."""
    calls: int = 0
    """Calls that are open in it."""
    within: int = 0
    """Parameters that are open in it."""
    quoted: bool = False
    """A value contains what looks like a marker."""
    forgot: bool = False
    """A closing was forgotten."""
    unclear: bool = False
    """It is unclear what is a marker and what only looks like one."""


class ChildrenState(ParamsState, array_like=True, gc=False):
    """The position in parameters whose tags are their own names.

    In the open value `calls` counts the tags with the call's name, `within` those with its own.
    """

    blank: bool = True
    """Only white space stands between parameters."""

    def count(self, name: str, *, closes: bool) -> None:
        """Count a tag inside the open value: one like its own, or the call's."""
        step = -1 if closes else 1
        if name == self.key:
            self.within += step
        else:
            self.calls += step


@plain_members
class ParamToken(Enum):
    """What a marker inside the body means."""

    OPEN = "a parameter begins; its key follows"
    CLOSE = "a value ends"
    END = "the call ends with this marker"
    STOP = "the call ends before this marker, which belongs to what surrounds it"
    NAMED = "a tag ends; the value follows"
    LINED = "the same, and the value begins on a line of its own"
    ESCAPE = "characters in a value that stand for another"
    RAW = "a raw section of a value begins or ends"
    FAULT = "the call can't continue like this"
    CONTENT = "it means nothing where it stands"
    TO_NEXT = "a value may end: another parameter follows"
    TO_END = "a value may end: the end of the call follows"
    LOOSE_CLOSE = "a closing followed by neither"
    LOOSE_OPEN = "a parameter's tag in an open value"
    LOOSE_END = "the end of a call in an open value"
    LOOSE_CALL = "the opening of a call in an open value"
    LOOSE_RAW = "the end of a raw section in an open value outside such a section"


DOUBTFUL = (
    *(ParamToken.TO_NEXT, ParamToken.TO_END, ParamToken.LOOSE_CLOSE, ParamToken.LOOSE_OPEN),
    *(ParamToken.LOOSE_END, ParamToken.LOOSE_CALL, ParamToken.LOOSE_RAW),
)
"""The tokens whose meaning `Closings.judged` decides."""


# Escapes inside a value: characters that stand for others, and sections in which nothing stands for anything else.


class Escapes(msgspec.Struct, frozen=True):
    """The escapes of one kind of markup. Values that use them are not trimmed."""

    raw: tuple[Marker, Marker]
    """Begin and end of a section whose text is taken literally."""
    characters: dict[str, str]
    """Each escape and the character that it stands for."""

    def decoder(self) -> Callable[[str], str]:
        """Return the function that decodes a whole value."""
        begin, end = (re.escape(side.spellings[0]) for side in self.raw)
        signs = "|".join(re.escape(sign) for sign in self.characters)
        pattern = re.compile(f"{begin}(?P<raw>.*?){end}|(?P<sign>{signs})", re.DOTALL)

        def text_of(found: re.Match[str]) -> str:
            return self.characters[found["sign"]] if found["raw"] is None else found["raw"]

        firsts = {self.raw[0].spellings[0], *(sign[0] for sign in self.characters)}

        def decode(text: str) -> str:
            return pattern.sub(text_of, text) if any(first in text for first in firsts) else text

        return decode


XML = Escapes(
    raw=(marker("<![CDATA["), marker("]]>")),
    characters={"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&apos;": "'"},
)


class Tags(msgspec.Struct, frozen=True):
    """The tags of parameters."""

    open: Marker
    """Begins a parameter's tag, which holds its key."""
    close: Marker
    """Ends the value."""
    end: Marker
    """Ends the call."""
    tag_end: Marker = marker(">")
    """Ends the tag. In pairs of tags it stands between key and value."""
    calls: Marker | None = None
    """Begins a call. A call inside a value is content."""
    framing: Marker | None = None
    """What may stand after the end of a call besides what surrounds it."""
    forgets: Forgets = "unknown"
    """Whether the next parameter may stand in for a closing."""
    open_ended: bool = False
    """Whether what surrounds the call also ends it, where all values are closed."""
    paired: bool = False
    """Whether a key without a value breaks the call. Otherwise the key is left out."""
    unescape: bool = False
    """Whether the key is an attribute in which quotes and the like are entities."""
    escapes: Escapes | None = None
    """Escapes inside values; most formats have none."""


class Closings:
    """What ends the values of one kind of tags. All state is in the call's."""

    def __init__(self, tags: Tags, key: re.Pattern[str], stops: Sequence[Marker]) -> None:
        self._key = key
        self._forgets, self._unescape = tags.forgets, tags.unescape
        behind = [*stops, *([tags.framing] if tags.framing else ())]
        self._scanners = {bare: Scanner(_in_value(tags, [] if bare else behind)) for bare in (False, True)}
        self.first = self._scanners[False].first
        """The character that begins everything that can be found in a value, if there is a single one."""
        self._last = Scanner(_last(tags, behind))
        self._next = re.compile(
            rf"(?P<space>\s*)(?:{_spelling(tags.open)})(?P<tag>.{{0,{TAG_CHARS}}}?)(?:{_spelling(tags.tag_end)})",
            re.DOTALL,
        )

    def scanner(self, call: OpenCall) -> Scanner[ParamToken]:
        """Return the scanner of what is live in a value of this call."""
        return self._scanners[call.bare]

    def judged(
        self,
        rules: Rules,
        call: OpenCall,
        state: ParamsState,
        hit: Hit[ParamToken],
        buffer: str,
        *,
        final: bool,
        cut: bool,
    ) -> Hit[ParamToken]:
        """Decide what a marker in an open value means there, or that it must wait. `cut`: the answer was cut off."""
        before = buffer[hit.start - 1] if hit.start else call.source.last
        regular = not state.lined or before == "\n"
        edge = hit.value
        if edge is ParamToken.TO_NEXT:
            tag = self._next.match(buffer, hit.end)
            sure = regular and not state.calls and not state.within
            if not (sure or tag or final) and len(buffer) - hit.end < _AHEAD_CHARS:
                return Hit(hit.start, -1, None)  # it matters which parameter it is
            meaning = ParamToken.CLOSE if sure else self._to_next(rules, call, state, tag, regular=regular)
        elif edge is ParamToken.TO_END and regular and not state.calls:
            meaning = ParamToken.CLOSE
        elif edge is ParamToken.LOOSE_OPEN:
            tag = self._next.match(buffer, hit.start)
            meaning = self._to_parameter(rules, call, state, tag, regular=regular)
        elif edge is ParamToken.LOOSE_CALL or edge is ParamToken.LOOSE_RAW:
            meaning = ParamToken.CONTENT
            state.led = edge is ParamToken.LOOSE_CALL
            state.unclear = state.unclear or edge is ParamToken.LOOSE_RAW
        else:
            last = None if state.calls or cut else self._last.at(buffer, hit.start, final=final)
            if last is not None:
                state.forgot = state.forgot or last.value is not None
                return last
            meaning = ParamToken.CONTENT
            _leave(state, edge, regular=regular)
        return Hit(hit.start, hit.end, meaning)

    def _to_next(
        self, rules: Rules, call: OpenCall, state: ParamsState, tag: re.Match[str] | None, *, regular: bool
    ) -> ParamToken:
        """Judge a closing after which a parameter begins, where it may be content."""
        if not state.calls:
            known = self._is_next(rules, call, state, tag)
            if known:
                state.forgot = state.forgot or not regular
                return ParamToken.CLOSE
            lined = not state.lined or tag is None or tag["space"].endswith("\n")
            state.unclear = state.unclear or (known is None and lined)
        _leave(state, ParamToken.LOOSE_CLOSE, regular=regular)
        return ParamToken.CONTENT

    def _to_parameter(
        self, rules: Rules, call: OpenCall, state: ParamsState, tag: re.Match[str] | None, *, regular: bool
    ) -> ParamToken:
        """Judge a parameter's tag that has no closing before it."""
        led, state.led = state.led, False
        if not regular:
            state.quoted = True
            return ParamToken.CONTENT
        if led or state.calls:
            state.calls += led
        elif self._forgets != "never":
            known = self._is_next(rules, call, state, tag)
            if self._forgets != "unknown" and (known or (known is None and self._forgets == "always")):
                state.forgot = True
                return ParamToken.OPEN
            state.unclear = state.unclear or known is True
        state.within += 1
        state.quoted = True
        return ParamToken.CONTENT

    def _is_next(self, rules: Rules, call: OpenCall, state: ParamsState, tag: re.Match[str] | None) -> bool | None:
        """Whether a tag names a parameter of the tool that was not given yet; None if nothing is known of the tool."""
        own = rules.parameters(call.name)
        found = self._key.fullmatch(tag["tag"]) if tag else None
        if not own or found is None:
            return None
        key = found["key"] or ""
        key = unescape(key) if self._unescape else key
        return key in own and key not in state.given


def unclear(state: ParamsState) -> bool:
    """Whether it is unclear where the values of a call end."""
    return state.unclear or (state.forgot and (state.quoted or len(state.given) < len(state.values)))


def _leave(state: ParamsState, edge: ParamToken | None, *, regular: bool) -> None:
    """Count a closing that is content of a value: it closes what content opened."""
    state.led, state.quoted = False, True
    if edge is ParamToken.LOOSE_END:
        state.calls = max(0, state.calls - 1)
    elif regular:
        state.within = max(0, state.within - 1)


def _in_value(tags: Tags, behind: Sequence[Marker]) -> list[tuple[Marker, ParamToken]]:
    """Return the markers in a value. After the end of a call follows one of `behind`, if there are any, or nothing."""
    key = "[^<>]" if tags.tag_end.spellings[0] in (">", '">') else r"(?s:.)"  # in these a tag contains no bracket
    named = [(f"{key}{{0,{TAG_CHARS}}}", *atoms) for atoms in spelled(tags.tag_end)]
    whole = named if tags.paired or tags.forgets != "never" else [()]
    nexts = [(*opens, *tag) for opens in following(tags.open) for tag in whole]
    ends = following(tags.end)
    if behind:
        around = [sequence for mark in behind for sequence in following(mark)]
        ends = [(*end, *after) for end in ends for after in (*around, OVER)] + (around if tags.open_ended else [])
    live = [
        (before(tags.close, nexts), ParamToken.TO_NEXT),
        (before(tags.close, ends), ParamToken.TO_END),
        (tags.close, ParamToken.LOOSE_CLOSE),
        (before(tags.open, named), ParamToken.LOOSE_OPEN),
        (tags.end, ParamToken.LOOSE_END),
    ]
    if tags.calls:
        live.append((tags.calls, ParamToken.LOOSE_CALL))
    if tags.escapes:
        live += [(marker(*tags.escapes.characters), ParamToken.ESCAPE), (tags.escapes.raw[0], ParamToken.RAW)]
        live.append((tags.escapes.raw[1], ParamToken.LOOSE_RAW))
    return live


def _last(tags: Tags, behind: Sequence[Marker]) -> list[tuple[Marker, ParamToken]]:
    """Return what ends a value without its closing, or without that of its call, if the stream ends there, too."""
    ends = [(*after, *OVER) for mark in behind for after in following(mark)]
    if tags.framing:
        ends += [(*after, *OVER) for mark in behind for after in following(tags.framing, mark)]
    behind_end = [OVER, *ends]
    behind_value = [*ends, *((*end, *after) for end in following(tags.end) for after in behind_end)]
    return [(before(tags.close, behind_value), ParamToken.CLOSE), (before(tags.end, behind_end), ParamToken.END)]


def _spelling(mark: Marker) -> str:
    """Return a pattern for any spelling of a marker."""
    return "|".join("".join(atoms) for atoms in spelled(mark))
