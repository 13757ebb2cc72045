"""Calls that a provider's own tool stream delivers: OpenAI tool-call deltas, by index.

1. A call begins when its name is known; its source is its `arguments` text, passed on verbatim. Where servers send an
   object instead, its JSON is meant. Text that comes before the name waits for it. An empty object before the name or
   with it only holds the place of arguments that may follow.
2. It is complete as soon as its JSON is. A call without arguments is complete when another of its index begins or the
   message ends; with an empty object beside its name, also when any other begins. Where the model did not finish, its
   arguments may only be missing: then it is unfinished.
3. An index that comes back with another id is another call. Where there are no ids, so is an index that comes back with
   a name and arguments when the call before is complete. Without an index an id or a name begins the next call, unless
   it is repeated while the last one is open.
4. A call that fails has no text in the model's own words, so it only produces an `error`.
5. After a limit of the message no call begins or is completed.
6. Text after the arguments of a call breaks it, if it comes with their end. If it comes later, the call has been sent
   and stands, so that there is only an `error` without an id. White space is ignored, and so is a repetition of the
   arguments, as some servers send it.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from tokenmill.events import AnyEvent, Error
from tokenmill.limits import NAME_CHARS, RAW_CHARS
from tokenmill.parser.bodies import JsonArguments
from tokenmill.parser.modes.text import UNPARSED, came_again, give_back, limit
from tokenmill.parser.run.rules import TEXT, Rules
from tokenmill.parser.run.run import Run, Verdict, begin, complete, fail
from tokenmill.parser.run.state import BLOCK_PIECES, NativeCall, OpenCall, Source, State

LARGEST_INDEX = 2**31 - 1
"""Far above every cap of calls. A larger index, which a snapshot may be unable to hold, is ignored."""

_READER = JsonArguments().compile(())
_quick = _READER.quick

NATIVE_BODY = _READER.state_type
"""What the body of such a call keeps."""


def quick_delta(rules: Rules, state: State, delta: Mapping[str, Any]) -> list[AnyEvent] | None:
    """Return the events of a delta that is only more content of the last call; None if it must be read with care."""
    known, function = state.native, delta.get("function")
    if not known or state.held or state.mode == UNPARSED or function.__class__ is not dict:
        return None
    native, text = known[-1], function.get("arguments")
    call = native.call
    if text.__class__ is not str or native.complete or not call.begun or native.index != delta.get("index"):
        return None
    if delta.get("id") or function.get("name"):
        return None
    limits, source, size = rules.limits, call.source, len(text)
    total = source.size + size
    if not 0 < size <= limits.delta_chars or total > limits.call_chars:
        return None
    events = _quick(rules, state, call, text)
    if events is not None:
        source.size = total  # as `add` does, without the cost of calling it for each delta
        pieces = source.pieces
        pieces.append(text)
        if len(pieces) >= BLOCK_PIECES:
            source.fold()
    return events


def read_delta(run: Run, delta: Mapping[str, Any]) -> None:
    """Read one tool-call delta."""
    if run.state.mode == UNPARSED:
        return
    function = delta.get("function")
    function = function if isinstance(function, Mapping) else {}
    wire_id, name = _text(delta.get("id"))[:NAME_CHARS], _text(function.get("name"))
    arguments = _json(function.get("arguments"))
    native = _find(run, delta.get("index"), wire_id, name, whole=bool(name and arguments))
    if native is None:
        return
    call = native.call
    if native.complete:
        _behind(run, call, arguments)
        return
    if not call.begun:
        call.id = call.id or wire_id
        call.name = (call.name + name)[:NAME_CHARS]
        if not call.name:
            _wait(run, native, arguments)
            return
        arguments, call.source = _with_waiting(call.source.text(), arguments), Source()
        verdict = begin(run, call, call.name, call.id, _READER.encoding, provider=True)
        if verdict is not Verdict.MORE:
            _forget(native)
            _refuse(run, call.name, verdict)
            return
        if _is_empty(arguments) and len(arguments) <= run.rules.limits.call_chars:
            call.source.add(arguments)
            return
    elif call.body.begin < 0 and arguments.strip():
        arguments, call.source = _with_waiting(call.source.text(), arguments), Source()
    if arguments:
        _read(run, native, arguments)


def _with_waiting(waiting: str, arguments: str) -> str:
    """Join the arguments that waited for the name and those that come with it; an empty object only held their
    place.
    """
    return arguments if arguments.strip() and _is_empty(waiting) else waiting + arguments


def _is_empty(arguments: str) -> bool:
    return "".join(arguments.split()) == "{}"


def _is_held(native: NativeCall) -> bool:
    """Whether only an empty object came with the name: it is read when no arguments can follow any longer."""
    call = native.call
    return not native.complete and call.begun and call.body.begin < 0 and _is_empty(call.source.text())


def _wait(run: Run, native: NativeCall, arguments: str) -> None:
    """Keep arguments until the name comes."""
    source = native.call.source
    room = run.rules.limits.call_chars - source.size
    source.add(arguments[:room])
    if len(arguments) > room:
        _too_long(run, native)


def _behind(run: Run, call: OpenCall, text: str) -> None:
    """Handle more arguments of a complete call: reported once, if the call itself was sent."""
    if call.begun and text.strip() and _mark(text) != call.header:
        call.begun = False
        message = f"text stands behind the arguments of {call.id}"
        run.out.append(Error("malformed-call", message, name=call.name, raw=text[:RAW_CHARS]))


def _mark(text: str) -> str:
    """Return what distinguishes these arguments from others."""
    return blake2b(text.strip().encode(errors="replace"), digest_size=16).hexdigest()


def _refuse(run: Run, name: str, verdict: Verdict) -> None:
    """Refuse a call that does not begin: there are too many, or by the options its name is text."""
    if verdict is Verdict.LIMIT:
        limit(run, f"there are more than {run.rules.limits.calls} calls")
    else:
        run.out.append(Error("unknown-tool", f"no tool is named {name!r}", name=name))


def end_native(run: Run) -> None:
    """End the message: what is still open is complete without arguments, or unfinished."""
    for native in run.state.native or ():
        _end(run, native)
    run.state.native = None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _json(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def _find(run: Run, index: Any, wire_id: str, name: str, *, whole: bool) -> NativeCall | None:
    """Find the call of a delta, open or new; None if there are too many. `whole`: it could be a call by itself."""
    known = run.state.native = run.state.native or []
    if not isinstance(index, int) or abs(index) > LARGEST_INDEX:
        index = _next(known, wire_id, name)
    for native in known:
        if native.index == index:
            again = not wire_id and whole and (native.complete or _is_held(native))
            if not again and (not wire_id or not native.call.id or native.call.id == wire_id):
                return native
            _end(run, native)
            known.remove(native)
            break
    if len(known) > run.rules.limits.calls:  # calls that have no name yet count, too
        limit(run, f"there are more than {run.rules.limits.calls} calls")
        return None
    for native in known:
        if _is_held(native):
            _end(run, native)
    opened = NativeCall(int(index), OpenCall(Source()))  # `true` is a number here, but none that a state can hold
    opened.call.body = _READER.begin(opened.call)
    known.append(opened)
    return opened


def _next(known: Sequence[NativeCall], wire_id: str, name: str) -> int:
    """Return the index that a delta without one means."""
    if not known:
        return 0
    last = known[-1]
    call, is_open = last.call, not last.complete
    waits = is_open and not call.name  # for the name of arguments that came before it
    repeated = call.id == wire_id or (waits and not call.id) if wire_id else waits or (is_open and call.name == name)
    return last.index if repeated or not (wire_id or name) else last.index + 1


def _read(run: Run, native: NativeCall, text: str) -> None:
    call, limits = native.call, run.rules.limits
    room = limits.call_chars - call.source.size
    stop, verdict = _READER.step(run, call, text[:room], 0)
    call.source.add(text[:stop])
    behind = text[stop:].strip()
    if verdict is Verdict.DONE and behind and behind.replace(call.source.text().strip(), "").strip():
        _forget(native)
        fail(run, call, "malformed-call", "text stands behind the arguments")
    elif verdict is Verdict.DONE:
        _complete(run, native)
    elif verdict is not Verdict.MORE:
        _forget(native)
        fail(run, call, "malformed-call", "the arguments are no JSON object")
    elif len(text) > room:
        _too_long(run, native)


def _too_long(run: Run, native: NativeCall) -> None:
    call = _forget(native)
    fail(run, call, "limit", f"a call is longer than {run.rules.limits.call_chars} characters")
    _stop_parsing(run)


def _stop_parsing(run: Run) -> None:
    """Stop parsing after the limit of a call beside it: the model's own text is text, including an open call in it."""
    state = run.state
    call, state.call = state.call, None
    pending = came_again(state) or state.pending
    state.mode, state.origin, state.pending = UNPARSED, TEXT, ""
    if call is None:
        give_back(run, pending, "limit")
        return
    if call.begun:
        fail(run, call, "unfinished-call", "parsing stopped inside the call")
    give_back(run, call.source.text(), "limit", call)


def _complete(run: Run, native: NativeCall) -> None:
    call = _forget(native)
    try:
        arguments, repaired = _READER.result(run, call)
    except ValueError as problem:
        fail(run, call, "malformed-call", str(problem))
    else:
        complete(run, call, arguments, repaired=repaired)
        told = native.call
        told.begun, told.name, told.header = not call.dropped, call.name, _mark(call.source.text())


def _forget(native: NativeCall) -> OpenCall:
    """Forget an ended call. Keep only its id and, if it was sent, what is needed to recognize it."""
    call, native.call = native.call, OpenCall(Source(), id=native.call.id)
    native.complete = True
    return call


def _end(run: Run, native: NativeCall) -> None:
    call = native.call
    if native.complete:
        return
    if _is_held(native) and run.state.mode != UNPARSED and not run.cut:
        arguments, call.source = call.source.text(), Source()
        _read(run, native, arguments)
        return
    _forget(native)
    if not call.name:
        if call.source.text().strip() and run.state.mode != UNPARSED:
            fail(run, call, "unfinished-call" if run.cut else "malformed-call", "the call has arguments and no name")
    elif call.source.text().strip() or run.state.mode == UNPARSED or run.cut:
        fail(run, call, "unfinished-call", "the stream ended inside the call")
    else:
        complete(run, call, {}, repaired=False)
