"""A conversation on a screen."""

import asyncio
from io import StringIO

import pytest

from tokenmill import events
from tokenmill.terminal.answers import Conversation
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.live import Picture, watch

NOW_S = 100.0


def terminal(height: int = 40, width: int = 60) -> Terminal:
    # In colour of no kind, so that lines can be compared.
    return Terminal(
        file=StringIO(), force_terminal=True, width=width, height=height, color_system=None, _environ={"TERM": "xterm"}
    )


def written(console: Terminal) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def drawn(*shown: events.AnyEvent, height: int = 40, width: int = 60, now_s: float = NOW_S) -> list[str]:
    conversation = Conversation()
    for number, event in enumerate(shown):
        conversation.add(event, 90_000 + 20 * number)
    console = terminal(height, width)
    console.print(Picture(conversation, lambda: now_s), end="")
    return [line.rstrip() for line in written(console).splitlines()]


START = events.MessageStart("gpt", "hermes", message_id="m1")


def of(event: type[events.TextDelta | events.ReasoningDelta], text: str) -> events.AnyEvent:
    return event("b0", text, message_id="m1")


def test_an_answer_has_a_title_its_blocks_its_end_and_figures() -> None:
    """From above: what it is, what it says, how it ended, how fast it came."""
    lines = drawn(START, of(events.TextDelta, "Hello"), events.Finish("stop", message_id="m1"))
    assert lines[:3] == ["── m1  hermes gpt", "  text       Hello", "  finish     stop"]
    assert " ".join(lines[3:]) == (
        "3 events; this answer 3, 25.0 deltas a second, longest gap 20 ms, last one 10.0 s ago"
    )


def test_a_choice_and_a_late_beginning_are_told() -> None:
    """Of an answer that was joined in its middle nobody knows the format."""
    [title, *_] = drawn(events.TextDelta("t0", "a", message_id="m1", choice=2))
    assert title == "── m1, choice 2  its beginning was not seen"


def test_reasoning_is_one_line_with_its_length() -> None:
    """Its last words are seen, so that one sees it grow; wide characters take two cells."""
    text = "a long\nline of thought " * 20 + "天気" * 10 + " the end"
    [_, line, *_] = drawn(START, of(events.ReasoningDelta, text))
    assert line.startswith("  reasoning  488 characters ")
    assert line.endswith("天気天気天気天気天気 the end")


@pytest.mark.parametrize(
    ("behind", "card"),
    [
        ([], ["╭─ f · growing · 8 characters", '│ {"a": 1}']),
        ([events.ToolInputEnd("c1")], ["╭─ f · read, not judged yet · 8 characters", '│ {"a": 1}']),
        ([events.ToolCall("c1", "f", {"a": 1})], ["╭─ f · complete · 8 characters", "│ a = 1"]),
        ([events.ToolCall("c1", "f", {"a": 1}, repaired=True)], ["╭─ f · repaired · 8 characters", "│ a = 1"]),
        (
            [events.Error("malformed-call", "it is no JSON", id="c1")],
            ["╭─ f · failed · 8 characters", '│ {"a": 1}', "│ malformed-call: it is no JSON"],
        ),
    ],
)
def test_a_call_is_a_card(behind: list[events.AnyEvent], card: list[str]) -> None:
    """With its state, its arguments, and its problem in words."""
    lines = drawn(events.ToolInputStart("c1", "f", "json"), events.ToolInputDelta("c1", '{"a": 1}'), *behind)
    frame = [line.strip(" │─╮") for line in lines if line.startswith(("  ╭", "  │"))]
    assert frame == [line.strip("│ ") for line in card]


def test_a_call_that_shows_nothing_yet_is_a_card_too() -> None:
    """Its name may not be known either."""
    assert drawn(events.ToolInputEnd("c1"))[1].startswith("  ╭─ a call · read")


def test_what_a_model_writes_does_nothing_to_the_terminal() -> None:
    """No markup, no pictures, no commands; not in texts, names, arguments, problems, or the ids of messages."""
    evil = "[bold]:smile:\x1b[2J\x9b\u202e"
    harmless = "[bold]:smile:<U+001B>[2J<U+009B><U+202E>"
    shown: list[events.AnyEvent] = [
        events.MessageStart(evil, evil, message_id=evil),
        events.TextDelta("t0", evil, message_id=evil),
        events.ReasoningDelta("r0", evil, message_id=evil),
        events.ToolInputStart("c1", evil, "json", message_id=evil),
        events.ToolInputDelta("c1", evil, message_id=evil),
        events.Error("malformed-call", evil, id="c1", message_id=evil),
        events.ToolCall("c2", evil, {evil: evil}, message_id=evil),
        events.Part(evil, evil, message_id=evil),
    ]
    page = "\n".join(drawn(*shown, width=300))
    assert not {"\x1b", "\x9b", "\u202e"} & set(page)
    assert page.count(harmless) == 11
    assert page.count("[bold]") == 13  # JSON writes two of the signs in its own way


def test_the_newest_is_seen_where_there_is_no_room_for_all() -> None:
    """The figures always are."""
    text = "\n".join(f"line {number}" for number in range(100))
    lines = drawn(START, of(events.TextDelta, text), events.Finish("stop", message_id="m1"), height=9, width=200)
    assert [line.split()[-1] for line in lines[:-1]] == ["94", "95", "96", "97", "98", "99", "stop"]
    assert lines[-1].startswith("3 events")


def test_what_is_not_kept_is_told() -> None:
    """Where there is room to say it."""
    lines = drawn(*(events.Part("p", n, message_id="m1") for n in range(70)), height=100)
    assert "  … 6 earlier blocks of this answer are not shown" in lines
    lines = drawn(*(events.Finish("stop", message_id=f"m{n}") for n in range(10)))
    assert lines[0] == "  … 2 earlier answers are not shown"
    assert drawn(of(events.TextDelta, "x" * 9_000), height=300)[1].startswith("  text       …x")


@pytest.mark.parametrize(
    ("now_s", "told"),
    [(89.0, "0 ms"), (90.5, "500 ms"), (95.0, "5.0 s"), (90.0 + 605, "10 min 5 s"), (90.0 + 7_260, "2 h 1 min")],
)
def test_the_time_since_the_last_event_is_told(now_s: float, told: str) -> None:
    """A producer's clock that goes ahead makes it no time at all."""
    assert drawn(events.Finish("stop"), now_s=now_s, width=100)[-1].endswith(f"last one {told} ago")


def test_before_the_first_event_the_screen_says_so() -> None:
    """And how to leave."""
    assert drawn() == ["no event yet; Ctrl-C ends"]


async def test_the_screen_grows_while_it_is_read_and_its_last_picture_stays() -> None:
    """The other screen is for the time of watching alone."""
    console, conversation, drawn_once = terminal(), Conversation(), asyncio.Event()

    def now() -> float:
        drawn_once.set()
        return NOW_S

    async def reading() -> None:
        conversation.add(of(events.TextDelta, "first"), 90_000)
        await drawn_once.wait()
        conversation.add(of(events.TextDelta, ", second"), 90_020)

    await watch(console, conversation, reading(), now)
    begun, grown, left = written(console).partition("\x1b[?1049h")[2].rpartition("\x1b[?1049l")
    assert ("first " in begun, grown, "first, second" in left) == (True, "\x1b[?1049l", True)
    assert "\x1b[?25h" in begun + left


async def test_what_ends_the_reading_is_raised() -> None:
    """The terminal is as it was before."""
    console = terminal()

    async def reading() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await watch(console, Conversation(), reading())
    assert written(console).endswith("\x1b[?1049l")


async def test_an_interruption_ends_the_reading() -> None:
    """And leaves the last picture."""
    console, conversation, ended = terminal(), Conversation(), asyncio.Event()
    conversation.add(of(events.TextDelta, "so far"), 90_000)
    begun = asyncio.Event()

    async def reading() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    watching = asyncio.create_task(watch(console, conversation, reading()))
    await begun.wait()
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    assert ended.is_set()
    assert "so far" in written(console).rpartition("\x1b[?1049l")[2]
