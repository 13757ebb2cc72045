"""An answer that is written again and again, to be read while the demo is kept open."""

import asyncio
from itertools import count

from rich.console import Console

from tokenmill.client import Publisher
from tokenmill.demo.gateway_streams import events_url
from tokenmill.demo.samples import Sample

CONVERSATION = "live"

CHUNK_S = 0.1
"""Seconds between two chunks: about as fast as a model writes."""

REST_S = 2.0
"""Seconds between two answers."""


async def keep_writing(console: Console, publisher: Publisher, sample: Sample, gateway: str) -> None:
    """Print where the answer can be read, and write until cancelled."""
    console.print()
    console.print(f"An answer is written to the conversation {CONVERSATION!r}, over and over, until you press Ctrl-C.")
    console.print("It can be read at")
    console.print(events_url(gateway, CONVERSATION, "from=now"), soft_wrap=True)
    for number in count(1):
        message = publisher.message(CONVERSATION, f"answer-{number}", open=sample.options)
        for chunk in sample.chunks():
            await message.text(chunk)
            await asyncio.sleep(CHUNK_S)
        await message.finish()
        await asyncio.sleep(REST_S)
