"""Signs that a server of raw text parses its model's output itself: it was started with flags that it should not have.

Calls or reasoning then come beside the text, or are dropped: vLLM drops the text of calls, since its requests say that
no tool is to be called. Nothing of that is an error, so the log names the flags, once for each upstream.
"""

import logging
from collections import Counter
from collections.abc import Callable

from tokenmill.caller.generation import Taker
from tokenmill.codecs import Chunk
from tokenmill.observe.caller_table import Sign
from tokenmill.usage import tokens

log = logging.getLogger(__name__)

WARNINGS: dict[Sign, str] = {
    "calls": "parses calls itself: start it without --tool-call-parser and --enable-auto-tool-choice (vLLM)",
    "reasoning": "parses reasoning itself: start it without --reasoning-parser",
    "nothing": "wrote tokens but no text: if it parses calls itself, start it without --tool-call-parser and "
    "--enable-auto-tool-choice (vLLM)",
}
"""What the log says of each."""

SILENT_TOKENS = 8
"""Tokens that a choice without text may have: a few that end it are not shown. The shortest call has more."""


class ServerParsers:
    """The signs seen at the servers of one upstream; `name` is for the log."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.answers = Counter[Sign]()
        """Answers with each sign."""

    def saw(self, sign: Sign) -> None:
        """Count an answer with a sign. The first one is logged."""
        self.answers[sign] += 1
        if self.answers[sign] == 1:
            log.warning("the model server of %s %s", self._name, WARNINGS[sign])


class Watched:
    """Passes the chunks of one answer to its taker, and looks for signs in them."""

    def __init__(self, taker: Taker, saw: Callable[[Sign], None], choices: int) -> None:
        """`choices`: how many the answer has. Servers count the tokens of all of them together."""
        self._taker = taker
        self._saw = saw
        self._choices = choices
        self._signs = set[Sign]()
        self._text = False
        """Whether text has come."""
        self._tokens = 0

    @property
    def pause_s(self) -> float:
        """As the taker has it."""
        return self._taker.pause_s

    async def put(self, chunk: Chunk) -> None:
        """Take the next chunk."""
        if chunk.tool_calls:
            self._found("calls")
        if chunk.reasoning:
            self._found("reasoning")
        self._text = self._text or bool(chunk.delta)
        if chunk.usage:
            self._tokens = tokens(chunk.usage).output
        await self._taker.put(chunk)

    def over(self) -> None:
        """The answer is whole."""
        if not self._text and not self._signs and self._tokens > SILENT_TOKENS * self._choices:
            self._found("nothing")

    def _found(self, sign: Sign) -> None:
        if sign not in self._signs:
            self._signs.add(sign)
            self._saw(sign)
