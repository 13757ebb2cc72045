"""What a client asks of a model, in whichever API: the neutral shape is that of OpenAI's chat completions."""

from typing import Any, Literal, TypeAlias

import msgspec

Json: TypeAlias = dict[str, Any]

ToolChoice: TypeAlias = Literal["auto", "none", "required", "named"]


class BadAsk(Exception):
    """A request that can't be served as it is: the message tells what to change, `param` names the field.

    `code` is OpenAI's word for the fault, if there is one: `unsupported_parameter`, `missing_required_parameter`.
    """

    def __init__(self, message: str, param: str = "", code: str = "") -> None:
        super().__init__(message)
        self.param = param
        self.code = code


class Ask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request, read and checked."""

    model: str
    messages: list[Json]
    """Messages as in chat completions, including system and developer messages, images, calls and their results."""
    tools: list[Json] = []
    """OpenAI's list, each tool under `function`; only those that the choice allows."""
    custom_tools: list[str] = []
    """Those of them that take a text: see `dialects.custom_tools`."""
    tool_choice: ToolChoice = "auto"
    tool: str = ""
    """With `named`: the tool that must be called."""
    namespaces: dict[str, tuple[str, str]] = {}
    """Tools that the client knows by two names: see `apis.namespaces`."""
    stream_tool_input: bool = False
    """Whether calls are sent as they grow, even where they can't be taken back."""
    parallel_tool_calls: bool | None = None
    response_format: Json | None = None
    """As in chat completions: `json_object` or `json_schema`."""
    n: int = 1
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: list[str] = []
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    reasoning_effort: str | None = None
    thinks: bool = True
    """Whether the model may think first. False: it is to answer without thinking, if it can."""
    forwarded: Json = {}
    """Other fields of the body, for the upstream to decide: passed on unchanged to servers that speak the same API."""
    stream: bool = False
    include_usage: bool = True
    """Whether a stream reports counts of tokens; chat completions do so only if they are asked."""
    background: bool = False
    """Whether the answer continues without a reader, even if all clients leave."""
    conversation: str = ""
    """Conversation that the body names; empty: it names none."""
