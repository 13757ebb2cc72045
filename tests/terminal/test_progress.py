"""Progress bars."""

import re
import threading
from io import StringIO

import pytest

from tokenmill.terminal import progress
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.progress import progress_bar, steps

SEEN_S = 20

GONE = "\x1b[1A\x1b[2K"
"""How a bar of one line is taken away."""


class Screen(StringIO):
    """A terminal. Whoever draws waits until it is drawn."""

    def __init__(self) -> None:
        super().__init__()
        self._news = threading.Condition()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self._news:
            self._news.notify_all()
            return super().write(text)

    def until(self, text: str) -> None:
        """Until this has been drawn."""
        with self._news:
            assert self._news.wait_for(lambda: text in self.getvalue(), SEEN_S), self.getvalue()


def console(page: StringIO) -> Terminal:
    return Terminal(file=page, width=80, color_system=None, _environ={"TERM": "xterm"})


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Where bars are drawn at once."""
    monkeypatch.setattr(progress, "DELAY_S", 0)
    monkeypatch.setattr(progress, "EVERY_S", 0.01)
    return Screen()


def test_a_bar_says_how_far_it_is_and_goes(screen: Screen) -> None:
    """What is done, of how much; in the end the line is empty again."""
    with progress_bar(console(screen)) as bar:
        bar.at("reading", 0, None)
        screen.until("0/?")
        bar.at("reading", 30, 120)
        screen.until(" 30/120")
    assert re.search(r"reading ━+.* 30/120", screen.getvalue())
    assert screen.getvalue().endswith(GONE)


def test_a_bar_may_ask_how_far_it_is(screen: Screen) -> None:
    """Then what it is about does nothing for it."""
    with progress_bar(console(screen), where=lambda: 7) as bar:
        bar.at("reading", 0, 9)
        screen.until("7/9")


def test_names_that_a_terminal_would_obey_are_made_harmless(screen: Screen) -> None:
    """Of files and topics; brackets are no markup."""
    with progress_bar(console(screen)) as bar:
        bar.at("[red]\x9b2J", 0, 1)
        screen.until("[red]<U+009B>2J")


@pytest.mark.parametrize("width", [5, 20, 60, 200])
def test_a_bar_is_one_line(width: int) -> None:
    """On any terminal, whatever it is about."""
    page = Screen()
    with steps(10, Terminal(file=page, width=width, color_system=None, _environ={"TERM": "xterm"})) as step:
        step("a long sentence, and more, " * 5)
    assert page.getvalue().count("\n") == 1
    assert page.getvalue().count("\x1b[1A") == 1


def test_lines_stand_where_no_bar_is(screen: Screen) -> None:
    """It is taken away before them, and comes back below."""
    with progress_bar(console(screen)) as bar:
        bar.at("reading", 1, 3)
        screen.until("1/3")
        with bar.aside():
            screen.write("a line\n")
        bar.at("reading", 2, 3)
        screen.until("2/3")
    before, _, behind = screen.getvalue().partition("a line\n")
    assert before.endswith(GONE)
    assert behind.endswith(GONE)


def test_what_is_over_soon_has_no_bar() -> None:
    """Nor does what failed soon."""
    page = Screen()
    with progress_bar(console(page)) as bar:
        bar.at("reading", 0, 1)
        with bar.aside():
            pass
    with pytest.raises(RuntimeError), progress_bar(console(page)):
        raise RuntimeError
    assert page.getvalue() == ""


def test_where_nobody_watches_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """And there is no thread for it."""
    monkeypatch.setattr(progress, "DELAY_S", 0)
    page, threads = StringIO(), threading.active_count()
    with progress_bar(console(page)) as bar:
        bar.at("reading", 0, 1)
        assert threading.active_count() == threads
    assert page.getvalue() == ""


def test_a_terminal_that_goes_away_ends_the_bar_alone(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    """So does a file whose place can't be told any more."""
    monkeypatch.setattr(progress, "DELAY_S", 0)
    asked = threading.Event()

    def where() -> float:
        asked.set()
        raise OSError

    with progress_bar(console(Screen()), where=where):
        assert asked.wait(SEEN_S)
    assert not recwarn.list


def test_steps_move_a_bar() -> None:
    """It is drawn with each step and by nobody else, and counts those that are over."""
    page = Screen()
    with steps(2, console(page)) as step:
        threads = threading.active_count()
        for number, done in enumerate(("0/2", "1/2", "2/2"), 1):  # one more than was said
            step(f"round {number}")
            last = page.getvalue().rpartition("\r")[2]
            assert (f"round {number} " in last, done in last) == (True, True)
        assert threading.active_count() == threads
    assert page.getvalue().endswith(GONE)


def test_steps_are_lines_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr, so that results stand alone on stdout."""
    with steps(2) as step:
        step("round 1 of 2")
        step("round 2 of 2")
    assert capsys.readouterr() == ("", "round 1 of 2\nround 2 of 2\n")
