"""Every answer that is known of a format: its sample, the project's own cases, the cases of other projects."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import NamedTuple

import msgspec

from tests.conformance.own_cases import own_cases
from tests.conformance.shared_cases import folder, options_of, shared_cases
from tokenmill.formats import compile_grammar, find_format
from tokenmill.limits import Limits
from tokenmill.parser import Grammar, Options
from tokenmill.parser.modes.call import CallMode

LONG = 1_000
"""Characters. The few longer texts repeat one line, so not every position of them is tried."""

ENDS = 100
"""Characters at both ends of a long text in which every position is tried."""

STEP = 1_499
"""Between the positions that are tried inside a long text: a prime, so that they fall on different places of a line."""


class Answer(NamedTuple):
    """One text and how it is to be parsed."""

    name: str
    text: str
    grammar: Grammar
    """Traced, so that every character can be found again."""

    @property
    def source(self) -> str:
        """What the parser reads: the text behind what the prompt ends with."""
        return self.grammar.prompt + self.text if self.text else ""

    @property
    def positions(self) -> Sequence[int]:
        """Where the text is cut: everywhere, but in the middle of long texts."""
        size = len(self.text)
        if size <= LONG:
            return range(1, size)
        return [*range(1, ENDS), *range(ENDS, size - ENDS, STEP), *range(size - ENDS, size)]


class Text(NamedTuple):
    """One text, and the options with which it is to be parsed."""

    name: str
    text: str
    options: Options

    @property
    def answer(self) -> Answer:
        """The same, compiled."""
        return Answer(self.name, self.text, traced(self.options))


def own_texts(format_name: str) -> Iterator[Text]:
    """The sample of a format and its own cases."""
    yield Text("sample", find_format(format_name).sample, Options(format=format_name))
    for case in own_cases(format_name):
        yield Text(case.name, case.text, case.options(format_name))


def all_texts(format_name: str) -> Iterator[Text]:
    """The same, and the cases of other projects if they are there."""
    yield from own_texts(format_name)
    for number, case in enumerate(shared_cases(format_name) if folder() else ()):
        yield Text(f"case {number} of others", case["text"], options_of(case))


def own_answers(format_name: str) -> Iterator[Answer]:
    """The sample of a format and its own cases, compiled."""
    return (text.answer for text in own_texts(format_name))


def all_answers(format_name: str) -> Iterator[Answer]:
    """The same, and the cases of other projects if they are there."""
    return (text.answer for text in all_texts(format_name))


def traced(options: Options) -> Grammar:
    """A grammar that records the source of markers and calls among the events, and adds nothing to the text."""
    return compile_grammar(msgspec.structs.replace(options, placeholder_text=""), traced=True)


def capped(grammar: Grammar, limits: Limits) -> Grammar:
    """The same grammar under other caps of the message and its calls, without compiling it again."""
    other = copy(grammar)
    other.limits, other.message_chars = limits, limits.message_chars
    if limits.call_chars != grammar.limits.call_chars:  # else its modes are those of that one
        other.modes = [_capped(mode, limits) if isinstance(mode, CallMode) else mode for mode in grammar.modes]
    return other


def _capped(mode: CallMode, limits: Limits) -> CallMode:
    other = copy(mode)
    other._call_chars = limits.call_chars
    other._in_body, other._in_header = other._content, other._more_header  # of this one, not of that one
    return other
