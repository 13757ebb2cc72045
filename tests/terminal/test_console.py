"""The console for people."""

from io import StringIO

import pytest

from tokenmill.terminal.console import Terminal


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
