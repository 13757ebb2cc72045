"""The model servers behind the front."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from tokenmill.config.base import Positive, PositiveInt, Section

Kind: TypeAlias = Literal["vllm", "sglang", "llama.cpp", "ollama", "openai", "completions", "anthropic"]


class Upstream(Section, frozen=True, kw_only=True):
    """A model server, or several that are alike, and the models that clients get from it."""

    models: list[str]
    """Names by which clients ask for it."""
    kind: Kind = "openai"
    """Which server it is: that decides how it is made to write raw text, with the tools in the prompt. `completions` is
    any with OpenAI's completions alone, `openai` any with chat completions; `anthropic` and `openai` may read calls
    themselves."""
    urls: list[str]
    """Where it is, without the API's path (`/v1`): `http://10.0.0.7:8000`. Of several the one with the fewest answers
    is asked."""
    model: str = ""
    """Its name there; empty: as the client says."""
    format: str = ""
    """The format that the model writes; empty: by the model's name, which may be a format's, and `plain` if that
    says nothing."""
    open: dict[str, Any] = {}
    """Further options of its messages, as `[parser]` has them: `start = "reasoning"` where the prompt opens it."""
    template_file: str = ""
    """The model's chat template (Jinja2, or a `tokenizer_config.json`): the prompt is rendered here then. Needed for
    `completions`; without one `ollama` is asked for the prompt by a switch that it does not document."""
    template_tokens: dict[str, str] = {}
    """Special tokens that the template writes, where `template_file` is no `tokenizer_config.json` that has them:
    `{ eos_token = "</s>" }`. What a prompt begins with as `bos_token` is left out: servers put it there."""
    api_key: str = ""
    """Sent as the server wants it; better in a file."""
    api_key_file: str = ""
    """A file that holds it."""
    length_field: Literal["", "max_tokens", "max_completion_tokens"] = ""
    """Of the kind `openai`: by which name the server is told how long an answer may be. Empty:
    `max_completion_tokens` at the addresses of OpenAI and Azure, and `max_tokens` at others, of which some do not know
    the newer name."""
    reasoning_field: Literal["", "reasoning_content", "reasoning", "none"] = ""
    """Of the kind `openai`: by which name the server is told what was thought in the turns before; `none`: it is not.
    Empty: as the client says, which is `reasoning_content` in Responses and Messages, and `none` at the addresses of
    OpenAI, Azure, Groq, Mistral and Cerebras, which refuse such turns. vLLM, OpenRouter and Ollama read `reasoning`."""
    continues: bool = False
    """An answer whose caller is lost is gone on with, from the text that there is; else it ends as failed. Needs a
    template, or a server that goes on with an answer: `vllm`, `sglang`."""
    calls: PositiveInt = 64
    """Answers of each URL at once."""
    queue: Annotated[int, Meta(ge=0)] = 256
    """Requests that wait for a place. More are told to come back later (429)."""
    queue_s: Positive = 30
    """How long one waits."""
    connect_s: Positive = 5
    """For a connection."""
    first_byte_s: Positive = 600
    """Until the answer begins: a long prompt takes its time."""
    silence_s: Positive = 120
    """Between two pieces of an answer."""
    tries: PositiveInt = 3
    """How often it is asked, at one URL or another, as long as nothing has come."""
