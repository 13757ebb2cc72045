"""The base class of kinds of model servers: how one is asked, so that it returns text as the model wrote it."""

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
    """How one request is made at one upstream."""

    ask: Ask
    upstream: Upstream
    api: str = "chat"
    """Name of the API that the client speaks."""
    body: Json = {}
    """The body that the client sent, for servers that speak the same API."""
    format: str = "plain"
    """Name of the format that the model writes."""
    markers: tuple[str, ...] = ()
    """The format's markers, which a server that drops special tokens has to keep."""
    prompt: str | None = None
    """The prompt, rendered here or by the server; None if the server is sent messages."""
    begins: str = ""
    """Beginning of the answer that the prompt ends with, and the server's text lacks."""
    opens_reasoning: bool = False
    """Whether the prompt opens the reasoning, whatever the client asks for."""
    answer: str = ""
    """Name of this try, for servers that stop an answer by its name."""
    betas: str = ""
    """The client's header `anthropic-beta`: features of the Messages API."""

    @property
    def model(self) -> str:
        """The name that the server knows the model by."""
        return self.upstream.model or self.ask.model

    def name_of(self, field: str) -> str:
        """Return the client's name for a field of `Ask`, in its API."""
        return name_at(self.api, field)

    @property
    def tools(self) -> list[Json]:
        """The tools that the model may call: none, all, or the one that it has to call."""
        if self.ask.tool_choice == "none":
            return []
        if self.ask.tool_choice == "named":
            return [tool for tool in self.ask.tools if tool.get("function", {}).get("name") == self.ask.tool]
        return self.ask.tools


class Call(msgspec.Struct, frozen=True):
    """One HTTP request to a server."""

    path: str
    body: Json
    codec: str = ""
    """Name of the codec that reads the response; empty if that is one JSON object."""
    headers: Mapping[str, str] = {}
    """Headers of this request, beside those of all requests."""


class Kind(ABC):
    """A kind of model server.

    A new kind is one file with an object of a class derived from this, and one line in the list of this package.
    """

    name: str
    """Its name in `upstreams.kind`."""
    summary: str
    """How it is made to write raw text, for people."""
    raw = True
    """Whether its text is as the model wrote it; otherwise it may have parsed calls and reasoning itself."""
    continued = False
    """Whether a client may have it continue a last message of the assistant, by `continue_final_message`."""

    def check(self, plan: Plan) -> None:  # noqa: B027 -- most kinds take everything
        """Raise `BadAsk` for a request that such a server can't answer."""

    def rendering(self, plan: Plan) -> Call | None:  # noqa: ARG002 -- for kinds that render
        """Return the request by which the server renders the prompt; None if it does not render apart."""
        return None

    def prompt_of(self, answer: bytes) -> str | None:  # noqa: ARG002 -- for kinds that render
        """Return the prompt in the response to that request; None if it has none. Raises `NOT_JSON`."""
        return None

    @abstractmethod
    def call(self, plan: Plan) -> Call:
        """Return the request whose response streams the answer."""

    def abort(self, call: Call) -> Call | None:  # noqa: ARG002 -- for kinds that need one
        """Return the request that stops an answer; None if closing the connection is enough."""
        return None

    def headers(self, api_key: str) -> Mapping[str, str]:
        """Return the headers of every request: the key as a bearer token."""
        return {"authorization": f"Bearer {api_key}"} if api_key else {}


HINTS = frozenset({"user", "prompt_cache_key", "safety_identifier", "verbosity"})
"""Fields that may help a server, and that are left out for kinds that don't know them: an answer is right without."""


def found_in(answer: bytes, wanted: type[Found]) -> Found | None:
    """Return a response's members that the type `wanted` has; None if they don't fit it. Raises `NOT_JSON`.

    Other members are not decoded: a whole response may take many times its bytes.
    """
    try:
        return msgspec.json.decode(answer, type=wanted)
    except msgspec.ValidationError:
        return None


def unsupported(plan: Plan, field: str, server: str) -> BadAsk:
    """Return the refusal of a field that a server does not have."""
    name = plan.name_of(field)
    return BadAsk(f"{name} can't be passed on to {server}; leave it out", name, "unsupported_parameter")


def given(**fields: Any) -> Json:
    """Return the fields that have a value: neither None nor an empty list."""
    return {name: value for name, value in fields.items() if value is not None and value != []}


def choosing(ask: Ask) -> Json:
    """Return the sampling options by the names that most servers have for them."""
    return given(
        temperature=ask.temperature,
        top_p=ask.top_p,
        stop=ask.stop,
        seed=ask.seed,
        presence_penalty=ask.presence_penalty,
        frequency_penalty=ask.frequency_penalty,
    )


def sampling(ask: Ask) -> Json:
    """Return them with the answer's cap and form, by their names in OpenAI's APIs, both chat and completions."""
    return {**choosing(ask), **given(max_tokens=ask.max_tokens, response_format=ask.response_format)}


def single(plan: Plan) -> None:
    """Raise `BadAsk` if several answers are asked of a server that gives one."""
    if plan.ask.n > 1:
        raise BadAsk(f"{plan.ask.model} gives one answer at a time; ask for n=1", "n", "unsupported_value")


def text_only(plan: Plan) -> None:
    """Raise `BadAsk` for images, which a prompt of text can't contain."""
    if any(map(images_of, plan.ask.messages)):
        detail = f"{plan.ask.model} completes a prompt of text, which can't have images; leave them out"
        raise BadAsk(detail, plan.name_of("messages"), "unsupported_value")


def own_body(body: Json, fields: Fields, ours: Collection[str], passed: Collection[str]) -> Json:
    """Return a client's own body for a server of the same API, without the fields in `ours`, which the kind sets.

    It leaves out null fields, and fields that the front ignores, as servers refuse some of them. The fields in `passed`
    are kept, as they mean something to the server.
    """
    return {
        name: value
        for name, value in body.items()
        if value is not None and name not in ours and (name in passed or fields.does(name) in ("used", "forwarded"))
    }


def chat_body(plan: Plan, messages: list[Json]) -> Json:
    """Return the body of a streamed chat completion of these messages.

    The client's forwarded fields come first, so that they can't override others.
    """
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
