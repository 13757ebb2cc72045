"""Text of a chat completion: without the white space around its calls.

Models put line breaks between their words and their calls. In native events they stay, as all text does. Clients of
chat completions show `content` as it comes, so there

1. text before a call is trimmed at both ends, and so is text after a call, up to the next;
2. text that is only white space beside a call is dropped;
3. an answer without calls keeps its white space, except at its beginning where it has tools: whether a call follows is
   known too late;
4. text before a call that failed without any output is also trimmed at its end.
"""

import msgspec

from tokenmill.limits import KIB

HELD_CHARS = 1 * KIB
"""Characters of white space that wait for what follows: more is not layout."""


class Trimming(msgspec.Struct, array_like=True, gc=False):
    """The position in the text."""

    held: str = ""
    """White space at its end."""
    bare: bool = True
    """Whether only white space came since the beginning, or since the last call."""
    called: bool = False
    """Whether there was a call."""
    failed: bool = False
    """Whether a call failed after what is held."""

    def text(self, delta: str, *, tools: bool) -> str:
        """Return what can be sent now that this text has come; `tools`: the message has some."""
        if delta and not (self.bare or self.held or delta[-1].isspace()):  # most of a text
            self.failed = False
            return delta
        if self.bare and (self.called or tools):
            delta = delta.lstrip()
        whole = self.held + delta
        kept = whole.rstrip()
        if kept:
            self.bare = self.failed = False
        size = max(len(kept), len(whole) - HELD_CHARS)
        self.held = whole[size:]
        return whole[:size]

    def call(self) -> None:
        """Note that a call begins."""
        self.held, self.bare, self.called, self.failed = "", True, True, False

    def fail(self) -> None:
        """Note that a call has failed; its text may follow."""
        self.failed = True

    def end(self) -> str:
        """Return what is still to be sent at the end."""
        held, self.held = self.held, ""
        return "" if self.failed else held
