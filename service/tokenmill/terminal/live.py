"""A conversation on a screen that is redrawn while it grows."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tokenmill.tasks import cancelled
from tokenmill.terminal.answers import Answer, Block, Card, Conversation, Line, State, Words
from tokenmill.terminal.readable import LABEL_WIDTH
from tokenmill.terminal.visible import one_line, visible

EVERY_S = 0.1
"""Seconds between two drawings: the eye needs no more, and one drawing covers many events when they come fast."""

STYLES: dict[State, str] = {
    "growing": "cyan",
    "read": "cyan",
    "complete": "bold cyan",
    "repaired": "yellow",
    "failed": "bold red",
}
"""Styles of a card."""

STATES: dict[State, str] = {"read": "read, not judged yet"}
"""Labels of states whose name alone is unclear."""


async def watch(
    console: Console, conversation: Conversation, reading: Awaitable[None], now: Callable[[], float] = time.time
) -> None:
    """Draw the conversation until the reading is done; the last picture then stays on the terminal.

    Raises what the reading raises.
    """
    picture = Picture(conversation, now)
    task = asyncio.ensure_future(reading)
    try:
        with Live(
            picture, console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        ) as live:
            while not task.done():
                await asyncio.wait([task], timeout=EVERY_S)
                live.refresh()
    finally:
        await cancelled(task)
        if conversation.latest is not None:
            console.print(picture, end="")
    await task


class Picture:
    """What is drawn: as much of the newest as fits, and the figures below it."""

    def __init__(self, conversation: Conversation, now: Callable[[], float] = time.time) -> None:
        self._conversation = conversation
        self._now = now

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw from the end up, until the screen is full: what is above costs nothing."""
        foot = console.render_lines(self._figures(), options.update(height=None), pad=False)
        room = max(1, (options.height or console.height - 1) - len(foot))
        lines: list[list[Segment]] = []
        for part in self._from_the_end(options.max_width):
            lines[:0] = console.render_lines(part, options.update(height=None), pad=False)
            if len(lines) >= room:
                break
        for line in [*lines[-room:], *foot]:
            yield from line
            yield Segment.line()

    def _from_the_end(self, width: int) -> Iterator[RenderableType]:
        for answer in self._conversation.answers:
            if answer.finish:
                yield _line(answer.finish)
            yield from (_block(block, width) for block in answer.blocks)
            yield from _gone(answer.gone, "blocks of this answer")
            yield _title(answer)
        yield from _gone(self._conversation.gone, "answers")

    def _figures(self) -> Text:
        latest = self._conversation.latest
        if latest is None:
            return Text("no event yet; Ctrl-C ends", style="dim")
        pace = latest.pace
        ago_s = max(0.0, self._now() - (pace.last or 0) / 1000)
        rate = "" if pace.deltas_per_s is None else f"{pace.deltas_per_s:,.1f} deltas a second, "
        events = f"{self._conversation.events:,} events; this answer {pace.events:,}, "
        gaps = f"longest gap {_span(pace.longest_gap_ms / 1000)}, last one {_span(ago_s)} ago"
        return Text(events + rate + gaps, style="dim")


def _title(answer: Answer) -> Text:
    title = Text("── ", style="bold").append(one_line(answer.message_id) or "message")
    if answer.choice:
        title.append(f", choice {answer.choice}")
    return title.append(f"  {one_line(answer.opened) or 'its beginning was not seen'}", "not bold dim")


def _gone(count: int, what: str) -> Iterator[Text]:
    if count:
        yield Text(f"  … {count:,} earlier {what} are not shown", style="dim")


def _block(block: Block, width: int) -> RenderableType:
    match block:
        case Words(kind="reasoning"):
            return _reasoning(block, width)
        case Words():
            said = visible("…" * block.ending.cut + block.ending.text.rstrip("\n"))
            return _labelled("text" if block.kind == "text" else "of a call", "dim" * (block.kind == "source"), said)
        case Card():
            return _card(block)
        case Line():
            return _line(block)


def _reasoning(block: Words, width: int) -> Table:
    """Return one line: its length, and its last words."""
    length = f"{block.ending.chars:,} characters "
    room = width - 2 - LABEL_WIDTH - len(length)
    said = one_line(block.ending.text[-2 * max(room, 1) :])
    while cell_len(said) > room and said:
        said = said[1:]
    return _labelled("reasoning", "dim italic", length + said)


def _card(card: Card) -> Padding:
    """Return a call in a frame, whose colour and title show its state."""
    style = STYLES[card.state]
    state = STATES.get(card.state, card.state)
    length = f" · {card.source.chars:,} characters" if card.source.chars else ""
    title = Text(f"{one_line(card.name) or 'a call'} · {state}{length}", style=style)
    if card.arguments is None:
        body = Text(visible("…" * card.source.cut + card.source.text))
    else:
        body = Text(visible(card.arguments))
    if card.problem:
        body.append("\n" * bool(body.plain) + visible(card.problem), "bold red")
    frame = Panel(body, title=title, title_align="left", box=box.ROUNDED, border_style=style)
    return Padding(frame, (0, 0, 0, 2))


def _line(line: Line) -> Table:
    return _labelled(line.label, line.style, visible(line.said))


def _labelled(label: str, style: str, said: str) -> Table:
    """Return a table that indents the lines after the first."""
    row = Table.grid(expand=True)
    row.add_column(width=LABEL_WIDTH + 2, no_wrap=True)
    row.add_column(ratio=1, overflow="fold")
    row.add_row(Text(f"  {visible(label)}", style), Text(said, style))
    return row


def _span(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:  # noqa: PLR2004 -- of a minute
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
