"""Any provider in, any client out: a captured stream of every codec becomes every dialect.

The streams in `tests/cases/captured` say the same, each in its protocol: some reasoning, some text, a call of
`get_weather` for Oslo, and where the protocol has them counts of tokens.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tokenmill.codecs import CODECS
from tokenmill.commands.parse import command
from tokenmill.dialects import DIALECTS

FOLDER = Path(__file__).parents[1] / "cases" / "captured"
STREAMS = {path.stem: path for path in sorted(FOLDER.iterdir())}

LAST: dict[str, Any] = {
    "native": {"type": "finish"},
    "ag_ui": {"type": "RUN_FINISHED"},
    "agent": {"type": "tool_call"},
    "ai_sdk_parts": {"type": "finish"},
    "ai_sdk_ui": "[DONE]",
    "anthropic": {"type": "message_stop"},
    "anthropic_message": {"type": "message"},
    "interceptor": {"type": "tool_call"},
    "openai": "[DONE]",
    "openai_completion": {"object": "chat.completion"},
    "openai_responses": {"type": "response.completed"},
    "segments": {"type": "SEGMENT_END"},
}
"""How each dialect ends."""

NO_REASONING = frozenset({"interceptor"})
NO_CONTENT = frozenset({"session"})
"""Of an answer they say only that it was."""

UNREAD_REASONING = frozenset({"ai_sdk_parts"})
"""The codec passes it on as parts of its provider."""


def converted(codec: str, dialect: str, path: Path) -> list[Any]:
    """What the command prints."""
    arguments = ["--codec", codec, "--dialect", dialect, "--format", "hermes", str(path)]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def words(payloads: list[Any]) -> str:
    """All text in payloads, in order and joined, without ids and types: what comes in pieces is whole again."""
    found: list[str] = []

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            for name, item in value.items():
                if name != "type" and not name.lower().endswith("id"):
                    collect(item)
        elif isinstance(value, list):
            for item in value:
                collect(item)
        elif isinstance(value, str):
            found.append(value)

    collect(payloads)
    return "".join(found)


def check(codec: str, dialect: str, path: Path) -> None:
    """Assert that all that was said comes through."""
    payloads = converted(codec, dialect, path)
    said = words(payloads)
    if dialect in NO_CONTENT:
        assert len(payloads) == 1
        return
    expected = LAST[dialect]
    assert payloads[-1] == expected or payloads[-1].items() >= expected.items()
    assert "It is:" in said
    assert "get_weather" in said
    assert "Oslo" in said
    assert "<tool_call>" not in said or dialect in {"native", "interceptor"}
    if dialect not in NO_REASONING and codec not in UNREAD_REASONING:
        assert "Let me" in said
        assert " look." in said


@pytest.mark.parametrize("dialect", [dialect.name for dialect in DIALECTS])
@pytest.mark.parametrize("codec", [codec.name for codec in CODECS])
def test_every_codec_becomes_every_dialect(codec: str, dialect: str) -> None:
    """A cell of the matrix."""
    check(codec, dialect, STREAMS[codec])


@pytest.mark.parametrize("dialect", [dialect.name for dialect in DIALECTS])
@pytest.mark.parametrize("codec", ["anthropic", "gemini", "openai", "openai_responses"])
def test_raw_bytes_become_every_dialect(codec: str, dialect: str) -> None:
    """The same streams without a look at their lines."""
    check(f"sse+{codec}", dialect, STREAMS[codec])
