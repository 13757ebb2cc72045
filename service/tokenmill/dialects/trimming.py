"""Text of a chat completion: without the white space around its calls.

Models put line breaks between what they say and what they call. In native events they stay, as all text does; clients
of chat completions show `content` as it comes, so there

1. what stands in front of a call is trimmed at both ends, and so is what stands behind one, up to the next;
2. text of white space alone beside a call is none;
3. an answer without calls keeps its white space, but for what it begins with where it has tools: whether a call
   follows is known too late;
4. text in front of a call that failed, and of which nothing came out, is trimmed behind, too.
"""

import msgspec

from tokenmill.limits import KIB

HELD_CHARS = 1 * KIB
"""White space that waits for what follows: more is no layout."""


class Trimming(msgspec.Struct, array_like=True, gc=False):
    """Where the text stands."""

    held: str = ""
    """White space at its end."""
    bare: bool = True
    """Nothing but white space came since the beginning, or the last call."""
    called: bool = False
    """There was a call."""
    failed: bool = False
    """A call failed behind what is held."""

    def text(self, delta: str, *, tools: bool) -> str:
        """What can be sent now that this text has come; `tools`: the message has some."""
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
        """What is still to be sent at the end."""
        held, self.held = self.held, ""
        return "" if self.failed else held
