"""Requests of agent programs in a tool loop, with their own settings: the fields are theirs, the values made up."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.calling import plan_of

FOLDER = Path(__file__).parents[1] / "cases" / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.iterdir())


@pytest.mark.parametrize("kind", ["vllm", "sglang", "llama.cpp"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_programs_request_is_taken(name: str, kind: str) -> None:
    """No field is refused, no message is lost, and the model has each tool that the program runs."""
    case: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    ask = plan_of(kind, case["body"], case["api"]).ask
    assert [message["role"] for message in ask.messages] == case["roles"]
    assert [tool["function"]["name"] for tool in ask.tools] == case["tools"]


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.endswith("-loop")])
def test_a_programs_loop_goes_on(name: str) -> None:
    """The call, what was thought before it, and the result are in the conversation."""
    case: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    *_, made, answered = plan_of("vllm", case["body"], case["api"]).ask.messages
    assert (made["content"], made["reasoning_content"]) == ("I read it.", "The note first.")
    assert made["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert "grün" in str(answered["content"])
