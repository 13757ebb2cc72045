"""The kinds of model servers: each has one file, and one line in the list."""

from tokenmill.caller.kinds.anthropic import ANTHROPIC
from tokenmill.caller.kinds.completions import COMPLETIONS
from tokenmill.caller.kinds.kind import Call, Kind, Plan
from tokenmill.caller.kinds.llama_cpp import LLAMA_CPP
from tokenmill.caller.kinds.ollama import OLLAMA
from tokenmill.caller.kinds.openai import OPENAI
from tokenmill.caller.kinds.sglang import SGLANG
from tokenmill.caller.kinds.vllm import VLLM

__all__ = ["KINDS", "Call", "Kind", "Plan", "find_kind"]

KINDS: tuple[Kind, ...] = (VLLM, SGLANG, LLAMA_CPP, OLLAMA, OPENAI, COMPLETIONS, ANTHROPIC)
"""All kinds."""

_BY_NAME = {kind.name: kind for kind in KINDS}


def find_kind(name: str) -> Kind:
    """Return the kind of this name, which the configuration has checked."""
    return _BY_NAME[name]
