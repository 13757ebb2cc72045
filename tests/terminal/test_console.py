"""The console for people."""

import sys
from io import StringIO

import pytest

from tokenmill.terminal.console import Terminal, echo, watched


def test_text_is_printed_as_it_is() -> None:
    """What a model writes must not be taken for styles or pictures."""
    page = StringIO()
    Terminal(file=page).print("[bold]:smile: 12")
    assert page.getvalue() == "[bold]:smile: 12\n"


class Gone(StringIO):
    """A pipe without a reader."""

    def write(self, _: str) -> int:
        raise BrokenPipeError


def test_a_reader_that_goes_away_is_an_ordinary_error() -> None:
    """The program decides what that means."""
    with pytest.raises(BrokenPipeError):
        Terminal(file=Gone()).print("nobody reads this")


class Screen(StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("page", "environ", "told"),
    [
        (Screen(), {"TERM": "xterm"}, True),
        (Screen(), {"TERM": "dumb"}, False),
        (StringIO(), {"TERM": "xterm"}, False),
        (StringIO(), {"TERM": "xterm", "FORCE_COLOR": "1"}, False),
    ],
)
def test_only_a_terminal_is_drawn_on_anew(page: StringIO, environ: dict[str, str], told: bool) -> None:
    """Colours may be wanted elsewhere, too."""
    assert watched(Terminal(file=page, _environ=environ)) is told


@pytest.mark.parametrize("said", ['{"a":"\x9b31m\u202e"}', '{"a":"\x9b31m\u202e"}'.encode()])
def test_only_a_terminal_is_told_what_it_would_obey(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes], said: str | bytes
) -> None:
    """Whoever reads by a pipe gets what is there."""
    echo(said)
    assert capsysbinary.readouterr().out == '{"a":"\x9b31m\u202e"}\n'.encode()
    monkeypatch.setattr(sys, "stdout", page := Screen())
    echo(said)
    assert page.getvalue() == '{"a":"<U+009B>31m<U+202E>"}\n'
