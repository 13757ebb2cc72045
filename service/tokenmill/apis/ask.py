"""What a client asks of a model, whichever API it speaks: the neutral shape is that of OpenAI's chat completions."""

from typing import Any, Literal, TypeAlias

import msgspec

Json: TypeAlias = dict[str, Any]

ToolChoice: TypeAlias = Literal["auto", "none", "required", "named"]


class BadAsk(Exception):
    """A request that can't be served as it is: the message says what to change, `param` names the field.

    `code` is OpenAI's word for it, if there is one: `unsupported_parameter`, `missing_required_parameter`.
    """

    def __init__(self, message: str, param: str = "", code: str = "") -> None:
        super().__init__(message)
        self.param = param
        self.code = code


class Ask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request, read and checked."""

    model: str
    messages: list[Json]
    """As chat completions have them; system and developer messages, images, calls and their results among them."""
    tools: list[Json] = []
    """OpenAI's list, each under `function`; only those that the choice allows."""
    tool_choice: ToolChoice = "auto"
    tool: str = ""
    """With `named`: the tool that has to be called."""
    namespaces: dict[str, tuple[str, str]] = {}
    """Of tools that the client knows by two names: see `apis.namespaces`."""
    stream_tool_input: bool = False
    """Calls are told as they grow, also where they can't be taken back."""
    parallel_tool_calls: bool | None = None
    response_format: Json | None = None
    """As chat completions have it: `json_object` or `json_schema`."""
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
    """False: the model is to answer without thinking first, if it can."""
    forwarded: Json = {}
    """What else the body says, and the upstream is to decide: passed on as it is to servers that speak the same API."""
    stream: bool = False
    include_usage: bool = True
    """Whether a stream tells counts of tokens; chat completions do so only if they are asked."""
    background: bool = False
    """The answer goes on without a reader, whoever leaves."""
    conversation: str = ""
    """As the body names it; empty: it does not."""
