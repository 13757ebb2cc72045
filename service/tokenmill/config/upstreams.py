"""The model servers behind the front."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from tokenmill.config.base import Positive, PositiveInt, Section
from tokenmill.formats import FORMATS
from tokenmill.formats.models import suggest_format

Kind: TypeAlias = Literal["vllm", "sglang", "llama.cpp", "ollama", "openai", "completions", "anthropic"]

MESSAGES_ONLY: frozenset[Kind] = frozenset({"openai", "anthropic"})
"""Kinds of servers that take messages, not a prompt. They may have parsed their text, and can't continue one."""


class Upstream(Section, frozen=True, kw_only=True):
    """A model server, or several alike, and the models that clients get from it."""

    models: list[str]
    """Names by which clients ask for it."""
    kind: Kind = "openai"
    """Kind of server, which decides how it is made to write raw text, with the tools in the prompt. `completions` is a
    server that has only OpenAI's completions, `openai` one with chat completions; `anthropic` and `openai` may read
    calls themselves."""
    urls: list[str]
    """Its addresses without the API's path (`/v1`): `http://10.0.0.7:8000`. The one with the fewest open answers is
    asked."""
    model: str = ""
    """Name of the model there; empty: as in the request."""
    format: str = ""
    """The format that the model writes; empty: derived from the model's name, which may be a format's, or else
    `plain`."""
    open: dict[str, Any] = {}
    """Additional options of its messages, as in `[parser]`: `start = "reasoning"` where the prompt opens it."""
    template_file: str = ""
    """The model's chat template (Jinja2, or a `tokenizer_config.json`): if set, the prompt is rendered here, one
    at a time, in a process of about 30 MB for each template. Needed for `completions`; without one, `ollama` is asked
    for the prompt by an undocumented switch."""
    template_tokens: dict[str, str] = {}
    """Special tokens that the template writes, if `template_file` is not a `tokenizer_config.json` that has them:
    `{ eos_token = "</s>" }`. A `bos_token` at the start of a prompt is left out, because servers add it."""
    api_key: str = ""
    """API key, sent as the server wants it; better in a file."""
    api_key_file: str = ""
    """A file that holds the key, instead of `api_key`."""
    length_field: Literal["", "max_tokens", "max_completion_tokens"] = ""
    """With kind `openai`: name of the field that limits an answer's length. Empty: `max_completion_tokens` at the
    addresses of OpenAI and Azure, and `max_tokens` at others, some of which do not accept the newer name."""
    default_max_tokens: PositiveInt = 4_096
    """Length of an answer, in tokens, if its request sets none: for kind `anthropic`, whose API requires a length, and
    `completions`, whose servers would end the answer after 16 tokens. Prompt and length together must fit in the
    model's context: servers refuse more."""
    reasoning_field: Literal["", "reasoning_content", "reasoning", "none"] = ""
    """With kind `openai`: name of the field with the reasoning of earlier turns; `none`: it is not sent. Empty: as in
    the request, which is `reasoning_content` in Responses and Messages, but `none` at the addresses of OpenAI, Azure,
    Groq, Mistral and Cerebras, which refuse such turns. vLLM, OpenRouter and Ollama read `reasoning`."""
    continues: bool = False
    """Whether an answer whose caller is lost continues from its text so far; otherwise it ends as failed. Needs a
    template, or a server that can continue an answer: `vllm`, `sglang`. An answer with a shape (`response_format`) is
    not continued. The rest of an answer may be as long as the request allows for all of it, and its usage counts the
    rest alone."""
    calls: PositiveInt = 64
    """Answers under way at the same time per URL."""
    queue: Annotated[int, Meta(ge=0)] = 256
    """Requests that may wait for a place. More are told to come back later (429)."""
    queue_s: Positive = 30
    """How long a request waits for a place, and then for its turn to be rendered, if it has a `template_file`."""
    connect_s: Positive = 5
    """How long a connection may take."""
    first_byte_s: Positive = 600
    """How long the server may take to begin its answer: a long prompt takes time."""
    silence_s: Positive = 120
    """How long the server may pause between two pieces of an answer."""
    tries: PositiveInt = 3
    """How often a request is tried, at any of the URLs, as long as nothing of its answer has come."""


def written_format(upstream: Upstream, model: str) -> str:
    """Return the name of the format that a model writes: as configured; else by its name, if its text is raw."""
    if upstream.format:
        return upstream.format
    suggested = None if upstream.kind in MESSAGES_ONLY else suggest_format(upstream.model or model, FORMATS)
    return suggested.name if suggested else "plain"
