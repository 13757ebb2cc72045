"""Random conversations for tests that compare a worker with the oracle: every kind of input, the same for a seed."""

import json
import random
from collections.abc import Iterator
from typing import Any

Chunk = dict[str, Any]

CITY, TEXT = ({"properties": {name: {"type": "string"}}} for name in ("city", "text"))

TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": CITY}},
    {"type": "function", "function": {"name": "write_file", "parameters": TEXT}},
]


TEXTS = {
    "plain": "Nothing to parse here, <think> included.",
    "hermes": '<think>Let me see.</think>Rain.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n'
    '</tool_call> Done, and <b>well</b>.\n<tool_call>\n{"name": "broken", "arguments": {"a": \n</tool_call>',
    "qwen3_xml": "I write.\n<tool_call>\n<function=write_file>\n<parameter=text>\nline one\nline two\n</parameter>\n"
    "</function>\n</tool_call>\nAnd that was it.",
}

ABANDONED = 0.04
CANCELLED = 0.04
DOUBLED = 0.03
LOST = 0.02
BROKEN = 0.02
UNNAMED = 0.2


def chunks_of(name: str, dice: random.Random) -> Iterator[Chunk | bytes]:
    """One conversation's records in order, some of them wrong on purpose."""
    for number in range(dice.randint(1, 3)):
        yield from _message(f"{name}-{number}", dice)


def _message(identity: str, dice: random.Random) -> Iterator[Chunk | bytes]:
    format_ = dice.choice(list(TEXTS))
    text = "".join(dice.choice([TEXTS[format_], f"word{dice.randint(0, 99)} "]) for _ in range(dice.randint(1, 4)))
    base: Chunk = {} if dice.random() < UNNAMED else {"message_id": identity}
    first: Chunk = {"open": {"format": format_, "tools": TOOLS, "model": "test"}}
    seq = 0
    for piece in _pieces(text, dice):
        chunk = base | {"seq": seq, "delta": piece} | first
        first = {}
        seq += 1
        if seq > 1 and dice.random() < LOST:
            continue
        yield chunk
        if dice.random() < DOUBLED:
            yield chunk
        if dice.random() < BROKEN:
            yield dice.choice([b"{", b'{"message_id": 7}', json.dumps({"message_id": "never", "seq": 5}).encode()])
    end = dice.random()
    if end < CANCELLED:
        yield base | {"control": "cancel"}
    elif end > CANCELLED + ABANDONED:
        yield base | {"seq": seq, "finish_reason": "stop", "usage": {"total_tokens": len(text)}}


def _pieces(text: str, dice: random.Random) -> Iterator[str]:
    at = 0
    while at < len(text):
        step = dice.choice((1, 2, 3, 5, 8, 13))
        yield text[at : at + step]
        at += step


def interleaved(conversations: int, seed: int, at_once: int = 60) -> Iterator[tuple[str, Chunk | bytes]]:
    """Keys and chunks of many conversations, `at_once` of them going on side by side."""
    dice = random.Random(seed)
    waiting = [f"conversation-{seed}-{number}" for number in range(conversations)]
    running: list[tuple[str, Iterator[Chunk | bytes]]] = []
    while waiting or running:
        while waiting and len(running) < at_once:
            name = waiting.pop()
            running.append((name, chunks_of(name, random.Random(name))))
        place = dice.randrange(len(running))
        name, chunks = running[place]
        chunk = next(chunks, None)
        if chunk is None:
            running.pop(place)
        else:
            yield name, chunk
