"""Finds signs that a server that should return raw text parses its model's output: it was started with the wrong flags.

Calls or reasoning then come beside the text, or are dropped: vLLM drops the text of calls, since our requests have
`tool_choice: none`. No error reports that, so the log names the flags, once for each upstream and sign.
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
"""Text of the log for each sign."""

SILENT_TOKENS = 8
"""Tokens that a choice without text may have: a few at its end are not shown. The shortest call has more."""


class ServerParsers:
    """Counts the signs seen at the servers of one upstream; `name` is for the log."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.answers = Counter[Sign]()
        """Number of answers with each sign."""

    def saw(self, sign: Sign) -> None:
        """Count an answer with a sign. The first one is logged."""
        self.answers[sign] += 1
        if self.answers[sign] == 1:
            log.warning("the model server of %s %s", self._name, WARNINGS[sign])


class Watched:
    """Passes the chunks of one answer to its taker, and reports signs in them to `saw`, each once."""

    def __init__(self, taker: Taker, saw: Callable[[Sign], None], choices: int) -> None:
        """`choices` is the number of choices, whose tokens servers count together."""
        self._taker = taker
        self._saw = saw
        self._choices = choices
        self._signs = set[Sign]()
        self._text = False
        """Whether text has come."""
        self._tokens = 0

    @property
    def pause_s(self) -> float:
        """Seconds for which further bytes may be left in the socket, by the taker."""
        return self._taker.pause_s

    async def put(self, chunk: Chunk) -> None:
        """Look for signs in the next chunk, and pass it on."""
        if chunk.tool_calls:
            self._report("calls")
        if chunk.reasoning:
            self._report("reasoning")
        self._text = self._text or bool(chunk.delta)
        if chunk.usage:
            self._tokens = tokens(chunk.usage).output
        await self._taker.put(chunk)

    def over(self) -> None:
        """Look for signs in the whole answer: tokens that brought nothing."""
        if not self._text and not self._signs and self._tokens > SILENT_TOKENS * self._choices:
            self._report("nothing")

    def _report(self, sign: Sign) -> None:
        if sign not in self._signs:
            self._signs.add(sign)
            self._saw(sign)
