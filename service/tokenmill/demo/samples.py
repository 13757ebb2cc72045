"""The demo's conversations: one in every format, and those that go wrong."""

import asyncio
from typing import Any, Literal

import msgspec

from tokenmill.client import Publisher
from tokenmill.demo.tools import TOOLS
from tokenmill.formats import FORMATS

AWKWARD = r"""<think>Not a call: <tool_cal, </thin. Now a real one.</think>Writing it, 2 < 3 & <b>bold</b>.
<tool_call>
{"name": "write_file", "arguments":
 {"path": "C:\\notes\\\"a\".md", "content": "caf\u00e9 \ud83d\ude00 {[\n\t</tool_cal 🎉"}}
</tool_call>
<tool_call>
{"name": "get_weather", "arguments": {"city": "São Paulo", "days": 3}}
</tool_call>"""

MALFORMED = """One moment.
<tool_call>
{"name": get_weather, the city is Paris, of course}
</tool_call>
Sorry, that came out wrong."""

UNFINISHED = """Let me write that down.
<tool_call>
{"name": "write_file", "arguments": {"path": "/tmp/report.md", "content": "# Report\\n\\nThe first"""

CANCELLED = "<think>The user wants a long story.</think>Once upon a time, in a data centre far away, there was a"

Ending = Literal["stop", "length", "cancel"]


class Sample(msgspec.Struct, frozen=True):
    """A model's text, how it is cut into chunks, and the result that it must have."""

    name: str
    about: str
    text: str
    options: dict[str, Any]
    step: int = 4
    """Characters in a chunk."""
    ending: Ending = "stop"
    reason: str | None = None
    """The `reason` of the finish event, if this sample is about it."""
    error: str | None = None
    """The code of an error event that must come."""
    calls: int | None = None
    """Number of complete tool calls, if this sample is about them."""

    def chunks(self) -> list[str]:
        """The text, cut into chunks."""
        return [self.text[at : at + self.step] for at in range(0, len(self.text), self.step)]

    async def publish(self, publisher: Publisher, conversation_id: str, pause_s: float = 0) -> None:
        """Publish the conversation, with a pause after each chunk; others run meanwhile."""
        message = publisher.message(conversation_id, "answer", open=self.options)
        for chunk in self.chunks():
            await message.text(chunk)
            await asyncio.sleep(pause_s)
        await (message.cancel() if self.ending == "cancel" else message.finish(self.ending))


def samples() -> list[Sample]:
    """Return the sample of every format of the registry, then the difficult ones."""
    return [*_of_formats(), *_difficult()]


def _of_formats() -> list[Sample]:
    # The samples of the registry call tools of this list.
    return [
        Sample(format_.name, format_.summary, format_.sample, {"format": format_.name, "tools": TOOLS})
        for format_ in FORMATS
    ]


def _difficult() -> list[Sample]:
    hermes = {"format": "hermes", "tools": TOOLS}
    return [
        Sample(
            "cut-everywhere",
            "every chunk is one character: markers, escapes and surrogate pairs are all cut",
            AWKWARD,
            hermes,
            step=1,
            reason="tool-calls",
            calls=2,
        ),
        Sample(
            "malformed",
            "a call that is no JSON: an error says so, and its text comes out",
            MALFORMED,
            hermes,
            reason="stop",
            error="malformed-call",
            calls=0,
        ),
        Sample(
            "unfinished",
            "the model hit its token limit inside a call: it is never executed",
            UNFINISHED,
            hermes,
            ending="length",
            reason="length",
            error="unfinished-call",
            calls=0,
        ),
        Sample("cancelled", "the user pressed stop", CANCELLED, hermes, ending="cancel", reason="cancelled", calls=0),
    ]
