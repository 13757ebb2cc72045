"""What a kind of model server is: how it is asked, so that the text comes as the model wrote it."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec

from tokenmill.apis import name_at
from tokenmill.apis.api import Fields
from tokenmill.apis.ask import Ask, BadAsk, Json
from tokenmill.caller.kinds.arguments import images_of
from tokenmill.config import Upstream

Found = TypeVar("Found")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One request as it goes to one upstream."""

    ask: Ask
    upstream: Upstream
    api: str = "chat"
    """Which the client speaks."""
    body: Json = {}
    """As the client sent it, for servers that speak the same API."""
    format: str = "plain"
    """What the model writes."""
    markers: tuple[str, ...] = ()
    """Of that format: what a server that drops special tokens has to keep."""
    prompt: str | None = None
    """Rendered here, or by the server."""
    begins: str = ""
    """What the answer begins with: the prompt has it already, the text that comes has not."""
    opens_reasoning: bool = False
    """Its prompt opens the reasoning, whatever the client says."""
    answer: str = ""
    """Names this try, for servers that stop what has a name."""
    betas: str = ""
    """What the client tries out of Messages, as its header says."""

    @property
    def model(self) -> str:
        """Its name at the server."""
        return self.upstream.model or self.ask.model

    def name_of(self, field: str) -> str:
        """What the client calls a field of `Ask`."""
        return name_at(self.api, field)

    @property
    def tools(self) -> list[Json]:
        """Those that the model is told of: none if it may call none, one if that one has to be called."""
        if self.ask.tool_choice == "none":
            return []
        if self.ask.tool_choice == "named":
            return [tool for tool in self.ask.tools if tool.get("function", {}).get("name") == self.ask.tool]
        return self.ask.tools


class Call(msgspec.Struct, frozen=True):
    """One request of HTTP."""

    path: str
    body: Json
    codec: str = ""
    """How what comes is read; empty: it is one JSON object."""
    headers: Mapping[str, str] = {}
    """Of this request, beside those of every one."""


class Kind(ABC):
    """A kind of server. A new one is one file with an object of a class derived from this, and one line in the list of
    this package.
    """

    name: str
    """What `upstreams.kind` calls it."""
    summary: str
    """How it is made to write raw text, for people."""
    raw = True
    """Whether its text is as the model wrote it; else it may have read calls and reasoning itself."""
    continued = False
    """Whether a client may have it continue a last message of the assistant, by `continue_final_message`."""

    def check(self, plan: Plan) -> None:  # noqa: B027 -- most kinds take everything
        """Raise `BadAsk` for what can't be had from it."""

    def rendering(self, plan: Plan) -> Call | None:  # noqa: ARG002 -- of those that render
        """Return the request that has it render the prompt, if it can and has to."""
        return None

    def prompt_of(self, answer: bytes) -> str | None:  # noqa: ARG002 -- of those that render
        """Return the prompt in the answer to that request; None if there is none. Raises `NOT_JSON`."""
        return None

    @abstractmethod
    def call(self, plan: Plan) -> Call:
        """Return the request whose answer streams."""

    def abort(self, call: Call) -> Call | None:  # noqa: ARG002 -- of those that want more
        """Return the request that stops an answer; None if closing the connection is enough."""
        return None

    def headers(self, api_key: str) -> Mapping[str, str]:
        """Return the headers of every request: the key as a bearer token."""
        return {"authorization": f"Bearer {api_key}"} if api_key else {}


HINTS = frozenset({"user", "prompt_cache_key", "safety_identifier", "verbosity"})
"""Fields that may help a server. Those that do not know them get none: an answer is right without them."""


def found_in(answer: bytes, wanted: type[Found]) -> Found | None:
    """The members of an answer that this type has; None if they are of other types. Raises `NOT_JSON`.

    Nothing else of it is kept: decoded whole, an answer may take many times its bytes.
    """
    try:
        return msgspec.json.decode(answer, type=wanted)
    except msgspec.ValidationError:
        return None


def unsupported(plan: Plan, field: str, server: str) -> BadAsk:
    """The refusal of a field that a server has no word for."""
    name = plan.name_of(field)
    return BadAsk(f"{name} can't be passed on to {server}; leave it out", name, "unsupported_parameter")


def given(**fields: Any) -> Json:
    """Those that have a value."""
    return {name: value for name, value in fields.items() if value is not None and value != []}


def choosing(ask: Ask) -> Json:
    """How the model is to choose its words, as most servers call it."""
    return given(
        temperature=ask.temperature,
        top_p=ask.top_p,
        stop=ask.stop,
        seed=ask.seed,
        presence_penalty=ask.presence_penalty,
        frequency_penalty=ask.frequency_penalty,
    )


def sampling(ask: Ask) -> Json:
    """The same and the form of the answer, as OpenAI's APIs call them, chat and completions alike."""
    return {**choosing(ask), **given(max_tokens=ask.max_tokens, response_format=ask.response_format)}


def single(plan: Plan) -> None:
    """Raise `BadAsk` where several answers are wanted of a server that gives one."""
    if plan.ask.n > 1:
        raise BadAsk(f"{plan.ask.model} gives one answer at a time; ask for n=1", "n", "unsupported_value")


def text_only(plan: Plan) -> None:
    """Raise `BadAsk` for images, which have no place in a prompt that is text."""
    if any(map(images_of, plan.ask.messages)):
        detail = f"{plan.ask.model} completes a prompt of text, in which images have no place; leave them out"
        raise BadAsk(detail, plan.name_of("messages"), "unsupported_value")


def own_body(body: Json, fields: Fields, ours: Collection[str], passed: Collection[str]) -> Json:
    """Return a client's own body for a server of the same API, without `ours`, which are set here.

    Null fields are left out, and fields that have no effect here, since servers refuse some of them. Those in `passed`
    mean something to the server.
    """
    return {
        name: value
        for name, value in body.items()
        if value is not None and name not in ours and (name in passed or fields.does(name) in ("used", "forwarded"))
    }


def chat_body(plan: Plan, messages: list[Json]) -> Json:
    """A streamed chat completion of these messages; what else the client says stands below."""
    ask = plan.ask
    if plan.begins:
        messages = [*messages, {"role": "assistant", "content": plan.begins}]
    return {
        **ask.forwarded,
        "model": plan.model,
        "messages": messages,
        **given(tools=plan.tools, reasoning_effort=ask.reasoning_effort),
        **sampling(ask),
        **({"n": ask.n} if ask.n > 1 else {}),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
