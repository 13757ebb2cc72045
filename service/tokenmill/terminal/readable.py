"""Events as lines for people: one line per block, in colour and growing on a terminal."""

import json
from typing import TypeAlias

import msgspec
from msgspec import UNSET
from rich.console import Console
from rich.text import Text

from tokenmill import events
from tokenmill.terminal.visible import one_line, visible

BLOCKS: dict[str, tuple[str, str]] = {"text": ("text", ""), "reasoning": ("reasoning", "dim italic")}
"""First word of a block's event types → label, style."""

LABEL_WIDTH = 11
"""Width of the longest label and a space."""

BlockKey: TypeAlias = tuple[str, str, int, str]


class EventPrinter:
    """Prints events. `live`: the delta of a block is printed when it comes, otherwise the block when it is complete.

    With `names` every line begins with its conversation, for following several at once. Characters that a terminal
    would interpret are named instead, and no text of an event begins at the margin.
    """

    def __init__(self, console: Console, *, live: bool, names: bool = False) -> None:
        self._console = console
        self._live = live
        self._names = names
        self._held: dict[BlockKey, list[str]] = {}
        self._words: dict[BlockKey, tuple[str, str]] = {}
        """Labels of text and reasoning blocks: a growing input is printed only at its end."""
        self._growing: BlockKey | None = None
        self._line_ends: dict[BlockKey, str] = {}
        """Newlines at the end of a live block: printed when more follows."""

    def show(self, event: events.AnyEvent) -> None:
        """Print one event, or hold it until its block is complete."""
        match event:
            case events.TextStart() | events.ReasoningStart():
                self._more(event, event.id, "")
            case events.ToolInputStart():
                self._more(event, event.id, f"{event.name} ")
            case events.TextDelta() | events.ReasoningDelta() | events.ToolInputDelta():
                self._more(event, event.id, event.delta)
            case events.TextEnd() | events.ReasoningEnd() | events.ToolInputEnd():
                self._end(event, event.id)
            case events.ArgumentDelta():
                pass  # the decoded copy of what tool-input-delta shows
            case _:
                self._break()
                self._print_held(event)
                label, style, said = sentence(event)
                self._print(self._head(event, label, style).append(_indent(said), style))

    def _more(self, event: events.AnyEvent, block: str, text: str) -> None:
        key = (event.conversation_id, event.message_id, event.choice, block)
        if not self._live:
            self._held.setdefault(key, []).append(text)
            if isinstance(event, events.TextStart | events.ReasoningStart):
                self._words[key] = _label(event)
            return
        text = self._line_ends.pop(key, "") + text
        shown = text.rstrip("\n")
        if len(shown) < len(text):
            self._line_ends[key] = text[len(shown) :]
        if shown:
            self._grow(event, key, shown)

    def _grow(self, event: events.AnyEvent, key: BlockKey, text: str) -> None:
        label, style = _label(event)
        line = Text()
        if self._growing != key:
            self._break()
            line, text = self._head(event, label, style), text.lstrip("\n")
            self._growing = key
        self._print(line.append(_indent(text), style), end="")

    def _end(self, event: events.AnyEvent, block: str) -> None:
        key = (event.conversation_id, event.message_id, event.choice, block)
        self._line_ends.pop(key, None)
        if self._live:
            self._break()
        else:
            self._words.pop(key, None)
            self._print_block(event, _label(event), self._held.pop(key, []))

    def _print_held(self, event: events.AnyEvent) -> None:
        """Print the open blocks of the message before something else: lines keep the order of events."""
        message = (event.conversation_id, event.message_id, event.choice)
        for key, pieces in self._held.items():
            if key[:3] == message and key in self._words:
                self._print_block(event, self._words[key], pieces)
                pieces.clear()

    def _print_block(self, event: events.AnyEvent, label: tuple[str, str], pieces: list[str]) -> None:
        if text := "".join(pieces).rstrip("\n"):
            self._print(self._head(event, *label).append(_indent(text), label[1]))

    def _break(self) -> None:
        """End the growing line."""
        if self._growing is not None:
            self._console.print()
            self._growing = None

    def _head(self, event: events.AnyEvent, label: str, style: str) -> Text:
        head = Text()
        if self._names:
            head.append(f"{one_line(event.conversation_id)}  ", "bold")
        return head.append("  ").append(f"{label:<{LABEL_WIDTH}}", style)

    def _print(self, line: Text, end: str = "\n") -> None:
        self._console.print(line, end=end, soft_wrap=True)


def _label(event: events.AnyEvent) -> tuple[str, str]:
    return BLOCKS.get(event.type.split("-")[0], ("input", "cyan"))


def _indent(text: str) -> str:
    return visible(text).replace("\n", "\n" + " " * (LABEL_WIDTH + 2))


def sentence(event: events.AnyEvent) -> tuple[str, str, str]:
    """Return label, style and text of an event that is not part of a block."""
    label: str
    label, style, said = event.type, "", ""
    match event:
        case events.MessageStart(format=format_):
            label, style, said = "start", "dim", format_ if isinstance(format_, str) else ", ".join(format_)
        case events.ToolCall():
            label, style, said = "call", "bold yellow" if event.problem else "bold cyan", _call(event)
        case events.Error(code=code, message=message):
            label, style, said = "error", "bold red", f"{code}: {message}"
        case events.Finish(reason=reason, usage=usage):
            label, style, said = "finish", "green", reason + (f"  {compact(usage)}" if usage else "")
        case events.Part(kind=kind, value=value):
            label, style, said = "part", "magenta", f"{kind} {compact(value)}"
        case events.ToolProgress(name=name, progress=progress):
            said = f"{name} {progress:g}{f' of {event.total:g}' if event.total else ''} {event.message or ''}"
            label, style, said = "progress", "magenta", said.rstrip()
        case events.ToolResult(name=name):
            label, style, said = "result", "bold magenta", f"{name} {_came(event)}"
    return label, style, said


def _call(event: events.ToolCall) -> str:
    notes = ["repaired"] * event.repaired + [event.problem] * bool(event.problem)
    return f"{event.name} {compact(event.arguments)}" + (f"  ({', '.join(map(str, notes))})" if notes else "")


def _came(event: events.ToolResult) -> str:
    return event.error or ("without a result" if event.result is UNSET else compact(event.result))


def compact(value: object) -> str:
    """Return a value as JSON on one line, with characters unescaped."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(value)  # halves of surrogate pairs and huge numbers: what a model may write
