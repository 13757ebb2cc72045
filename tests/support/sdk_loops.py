"""A tool loop of three turns as models of several formats write it: question, call, result, call, result, answer."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tokenmill.formats import find_format
from tokenmill.formats.history import format_call
from tokenmill.formats.marker_texts import marker_texts

RESULTS = ['{"sky": "clear", "°C": [21, 19.5]}', 'Booked: "ZRH-7".\nHave a nice trip <3']
"""What the tools answer, in order."""


class Said(NamedTuple):
    """What the model says in one turn."""

    thought: str
    text: str
    tool: str = ""
    arguments: Mapping[str, Any] = {}


def _tool(name: str, text: str, **properties: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": text, "parameters": parameters}


_LEG = {"type": "object", "properties": {"from": {"type": "string"}, "to": {"type": "string"}}}

FUNCTIONS = [
    _tool("get_weather", "The weather of some days", city={"type": "string"}, days={"type": "integer"}),
    _tool(
        "book_trip",
        "Books a trip",
        legs={"type": "array", "items": _LEG},
        options={"type": "object"},
        price={"type": "number"},
        confirmed={"type": "boolean"},
        note={"type": "string"},
    ),
]
"""The tools; APIs differ in what they put around them."""

TOOLS: list[dict[str, Any]] = [{"type": "function", "function": function} for function in FUNCTIONS]

NAMES = [function["name"] for function in FUNCTIONS]

LOOP: Sequence[Said] = [
    Said("They want the weather first.", "Let me see.", "get_weather", {"city": "Zürich", "days": 3}),
    Said(
        "Clear: so book it.",
        "It will be clear, so I book.",
        "book_trip",
        {
            "legs": [{"from": "ZRH", "to": "CDG", "day": 2}, {"from": "CDG", "to": "ZRH", "day": 5}],
            "options": {"seat": "aisle", "meals": {"vegan": True, "count": 2}, "extras": []},
            "price": 123.5,
            "confirmed": True,
            "note": 'He said "yes",\nthen paid 5 € & left: {a: [1]} — 日本 🌧',
        },
    ),
    Said("All done.", "Your trip is **booked**:\n\n1. ZRH → CDG\n2. back"),
]


class Model(NamedTuple):
    """A model behind the front: which server it has, and how it writes."""

    kind: str
    format: str

    @property
    def own_ids(self) -> bool:
        """Whether the model gives its calls ids."""
        return self.format in ("kimi_k2", "mistral_json")

    @property
    def thinks(self) -> bool:
        """Whether the format has markers of reasoning."""
        return self.format not in ("llama3_json", "llama4_pythonic", "mistral_json")

    @property
    def markers(self) -> list[str]:
        """Markers that are one special token each: servers drop them unless they are told not to."""
        return [text for text in marker_texts(find_format(self.format)) if re.fullmatch(r"<\S+>|\[/?[A-Z_]+\]", text)]

    def raw(self, turn: int) -> str:
        """What the model writes in a turn."""
        said = LOOP[turn]
        call = self._call(said, turn) if said.tool else ""
        if self.format == "harmony":
            channel = "<|start|>assistant<|channel|>commentary" if call else "<|start|>assistant<|channel|>final"
            end = "<|end|>" if call else "<|return|>"
            thought = f"<|channel|>analysis<|message|>{said.thought}<|end|>"
            return f"{thought}{channel}<|message|>{said.text}{end}{call}"
        if self.format == "minimax_m2":  # its prompt opens the reasoning
            return f"{said.thought}</think>\n\n{said.text}\n{call}"
        if self.format == "mistral_args":
            return f"[THINK]{said.thought}[/THINK]{said.text}{call}"
        thought = f"<think>{said.thought}</think>" if self.thinks else ""
        return f"{thought}{said.text}\n{call}" if call else f"{thought}{said.text}"

    def _call(self, said: Said, turn: int) -> str:
        written = format_call(find_format(self.format), said.tool, said.arguments, f"a1B2c3D4{turn}")
        # The number of a call counts over the whole conversation.
        return written.replace(f"functions.{said.tool}:0", f"functions.{said.tool}:{turn}")


MODELS: Mapping[str, Model] = {
    model.format: model
    for model in (
        Model("vllm", "hermes"),
        Model("vllm", "harmony"),
        Model("vllm", "deepseek_v31"),
        Model("sglang", "qwen3_xml"),
        Model("sglang", "glm_kv"),
        Model("llama.cpp", "kimi_k2"),
        Model("llama.cpp", "llama3_json"),
        Model("ollama", "llama4_pythonic"),
        Model("ollama", "mistral_json"),
        Model("completions", "minimax_m2"),
        Model("completions", "mistral_args"),
    )
}
"""By the names that clients ask for, which are those of their formats."""


def turn_of(messages: Sequence[Mapping[str, Any]]) -> int:
    """Which turn of the loop is asked for: as many as there are results."""
    return sum(message["role"] == "tool" for message in messages)


def question(name: str) -> str:
    """The user's question, by which a loop is known."""
    return f"Plan my trip, please. ({name})"
