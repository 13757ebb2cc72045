"""OpenAI's chat completions: what a request asks for."""

from collections.abc import Mapping

from tokenmill.apis.api import Api, Field, Fields
from tokenmill.apis.ask import Ask, Json
from tokenmill.apis.chat_messages import read_messages
from tokenmill.apis.reading import Node, numbers
from tokenmill.apis.response_format import read_format
from tokenmill.apis.tools import CUSTOM, FUNCTION, TYPES, chosen, custom, foreign_tool, function, openai_choice
from tokenmill.limits import CHOICES

RANGES: Mapping[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
}

NO_EFFORT = "none"
"""The effort that tells a model not to think."""

CAPPED = "reasoning included; the server gets it under the name that it knows"
"""Text for the tables of all APIs, like the others here."""

SHAPED = "with raw text it leaves no room for calls or reasoning: see below"

TEXTS = "a model calls one as a function with the argument `input`, and gets a grammar as part of the description"

UNTHINKING = "`none` also tells its template not to think"

TEXT = "an answer is only what the model writes."
PROBABILITIES = "events carry no probabilities."
NUMBERS = "events carry no token ids."
ONE_PROMPT = "the prompt is made from `messages`."
ONE_TEMPLATE = "the prompt is made by the model's own template."
SEVERAL = "ask for several answers with `n`."
ITS_OWN = "servers find each other by their own settings."
ITS_MODEL = "choose another model with `model`."
ITS_PLACE = "the server decides where it keeps a request."
NO_CODE = "a request brings no code to a server."

SERVERS_OWN = (
    Field("echo", "refused", TEXT, accepts=(False,)),
    Field("suffix", "refused", TEXT, accepts=("",)),
    Field("response_fields", "refused", "all of an answer is read.", accepts=([],)),
    Field("prompt", "refused", ONE_PROMPT),
    Field("chat_template", "refused", ONE_TEMPLATE),
    Field("prompt_embeds", "refused", ONE_PROMPT),
    Field("input_ids", "refused", ONE_PROMPT),
    Field("best_of", "refused", SEVERAL, accepts=(1,)),
    Field("use_beam_search", "refused", "a search can't be streamed.", accepts=(False,)),
    Field("n_cmpl", "refused", SEVERAL, accepts=(1,)),
    Field("n_probs", "refused", PROBABILITIES, accepts=(0,)),
    Field("prompt_logprobs", "refused", PROBABILITIES),
    Field("logprob_token_ids", "refused", PROBABILITIES, accepts=([],)),
    Field("return_tokens", "refused", NUMBERS, accepts=(False,)),
    Field("return_token_ids", "refused", NUMBERS, accepts=(False,)),
    Field("return_tokens_as_token_ids", "refused", NUMBERS, accepts=(False,)),
    Field("return_hidden_states", "refused", "events carry no states.", accepts=(False,)),
    Field("return_routed_experts", "refused", "events carry no states.", accepts=(False,)),
    Field("request_id", "refused", "the front assigns ids."),
    Field("rid", "refused", "the front assigns ids."),
    Field("priority", "refused", "no client has priority.", accepts=(0,)),
    Field("lora_path", "refused", ITS_MODEL),
    Field("lora", "refused", ITS_MODEL, accepts=([],)),
    Field("logits_processors", "refused", NO_CODE, accepts=([],)),
    Field("custom_logit_processor", "refused", NO_CODE),
    Field("id_slot", "refused", ITS_PLACE, accepts=(-1,)),
    Field("data_parallel_rank", "refused", ITS_PLACE),
    Field("routed_dp_rank", "refused", ITS_PLACE),
    Field("disagg_prefill_dp_rank", "refused", ITS_PLACE),
    Field("session_params", "refused", "send the whole conversation in `messages`."),
    Field("kv_transfer_params", "refused", ITS_OWN),
    Field("ec_transfer_params", "refused", ITS_OWN),
    Field("bootstrap_host", "refused", ITS_OWN),
    Field("bootstrap_port", "refused", ITS_OWN),
    Field("bootstrap_room", "refused", ITS_OWN),
)
"""Model servers' own fields that are refused, while other unknown ones are passed on.

They would put into an answer what no client's API has a place for, or leave out what is read from it. Or they name
places that a server is to connect to, ids by which others can stop it, or prompts that nobody has read. Or they are
code, a model other than the requested one, or a place ahead of other clients. They are defined in the APIs of vLLM,
SGLang and llama.cpp, and in OpenAI's completions, which the kind `completions` calls.
"""

FIELDS = Fields(
    Field("model", "used", "the model, and with it the server"),
    Field("messages", "used", "system, developer, user, assistant and tool; text and images (`image_url`)"),
    Field("tools", "used", f"functions, and tools that take a text (`custom`): {TEXTS}"),
    Field("tool_choice", "used", "`none`, `auto`, `required`, a tool, or `allowed_tools`"),
    Field(
        "parallel_tool_calls",
        "used",
        "whether an answer may have several calls; with raw text, calls after the first are dropped",
    ),
    Field("response_format", "used", f"`text`, `json_object` or `json_schema`; {SHAPED}"),
    Field("n", "used", "number of answers, 1 to 128; their tools, repeated in each, may have 8 MiB in all"),
    Field("max_completion_tokens", "used", f"how long an answer may be, {CAPPED}"),
    Field("max_tokens", "used", "the same under its old name; the new one takes precedence"),
    Field("temperature", "used", "0 to 2"),
    Field("top_p", "used", "0 to 1"),
    Field("presence_penalty", "used", "-2 to 2"),
    Field("frequency_penalty", "used", "-2 to 2"),
    Field("stop", "used", "a string or a list of them"),
    Field("seed", "used", "an integer"),
    Field("reasoning_effort", "used", f"a word that the model knows; {UNTHINKING}"),
    Field("stream", "used", "whether the answer comes in pieces"),
    Field("stream_options", "used", "see its members"),
    Field(
        "stream_options.include_usage",
        "used",
        "a chunk with token counts after each answer's end; each of several answers has the total, if the server "
        "counts them together",
    ),
    Field("stream_options.continuous_usage_stats", "noted", "tokens are counted at the end"),
    Field("stream_options.include_obfuscation", "noted", "pieces are not padded"),
    Field("metadata", "used", "strings by name; they are not kept"),
    Field("metadata.conversation_id", "used", "the conversation of the answer, and the key of its records"),
    Field("store", "noted", "an answer is kept as long as its topic keeps it"),
    Field("prompt_cache_options", "noted", "caching follows the model server's own settings"),
    Field("prompt_cache_retention", "noted", "caching follows the model server's own settings"),
    Field("logit_bias", "forwarded", "token ids are the model's own"),
    Field("prediction", "forwarded", "may make an answer faster"),
    Field("prompt_cache_key", "forwarded", "may lead to a server that has the prompt"),
    Field("safety_identifier", "forwarded", "the user"),
    Field("user", "forwarded", "the user"),
    Field("cache_salt", "forwarded", "keeps a cached prompt from clients without it; other clients are not affected"),
    Field("chat_template_kwargs", "forwarded", "the template's variables; `chat_template` in it is refused, too"),
    Field("vllm_xargs", "forwarded", "what is refused here is also refused in it"),
    Field("verbosity", "forwarded", "a word that the model knows"),
    Field("functions", "refused", "it belongs to an older API; declare `tools`."),
    Field("function_call", "refused", "it belongs to an older API; use `tool_choice`.", accepts=("auto", "none")),
    Field("logprobs", "refused", "events carry no probabilities.", accepts=(False,)),
    Field("top_logprobs", "refused", "events carry no probabilities.", accepts=(0,)),
    Field("modalities", "refused", "answers are text.", accepts=(["text"],)),
    Field("audio", "refused", "answers are text."),
    Field("moderation", "refused", "nothing is moderated here."),
    Field("service_tier", "refused", "there is one tier.", accepts=("auto", "default")),
    Field("web_search_options", "refused", "nothing searches here; declare a tool that does."),
    *SERVERS_OWN,
    unknown="forwarded",
    about="Other fields are passed on as they are: `top_k`, `min_p`, `chat_template_kwargs` and what servers add.",
)


def read(body: Json) -> Ask:
    """Return what the body asks for. Raises `BadAsk`."""
    node = Node(body)
    forwarded = FIELDS.check(node)
    _check_passed(node)
    tools = [] if node.at("tools").absent else [_tool(tool) for tool in node.at("tools").items()]
    options = FIELDS.check_within(node, "stream_options")
    format_, effort = node.at("response_format"), node.maybe("reasoning_effort", Node.filled)
    return Ask(
        model=node.need("model").filled(),
        messages=read_messages(node.need("messages")),
        parallel_tool_calls=node.maybe("parallel_tool_calls", Node.flag),
        response_format=None if format_.absent else read_format(format_, within=True),
        n=node.maybe("n", lambda n: n.whole(1, CHOICES)) or 1,
        max_tokens=_max_tokens(node),
        stop=_stop(node.at("stop")),
        seed=node.maybe("seed", lambda seed: seed.whole(-(2**63), 2**63 - 1)),
        reasoning_effort=effort,
        thinks=thinks(effort),
        forwarded=forwarded,
        stream=node.maybe("stream", Node.flag) or False,
        include_usage=bool(options and options.maybe("include_usage", Node.flag)),
        conversation=conversation_of(node),
        **chosen(tools, openai_choice(tools, node.at("tool_choice"), within=True)),
        **numbers(node, RANGES),
    )


def _check_passed(node: Node) -> None:
    """Refuse fields that servers also read inside another field. Raises `BadAsk`."""
    more, variables = node.at("vllm_xargs"), node.at("chat_template_kwargs")
    if isinstance(more.value, dict):
        FIELDS.check(more)
    if isinstance(variables.value, dict):
        FIELDS.check(Node({"chat_template": variables.value.get("chat_template")}, variables.path))


def thinks(effort: str | None) -> bool:
    """Whether a model that gets this effort is to think at all."""
    return effort != NO_EFFORT


def _tool(node: Node) -> Json:
    """Return a declared tool; members that are not known are passed on with it."""
    kind = node.need("type")
    if kind.value not in TYPES:
        raise foreign_tool(kind)
    inner = node.need(kind.text())
    if kind.value == CUSTOM:
        inner.only("name", "description", "format")
        beside = {name: value for name, value in node.members().items() if name != CUSTOM}
        return {**beside, FUNCTION: custom(inner, within=True)}
    return {**node.members(), FUNCTION: {**inner.members(), **function(inner)}}


def _max_tokens(node: Node) -> int | None:
    old, new = (node.maybe(name, Node.whole) for name in ("max_tokens", "max_completion_tokens"))
    return old if new is None else new


def _stop(node: Node) -> list[str]:
    if node.absent:
        return []
    return [node.filled()] if isinstance(node.value, str) else [each.filled() for each in node.items()]


def conversation_of(node: Node) -> str:
    """Return the conversation that the metadata name, if they name one."""
    metadata = node.at("metadata")
    if metadata.absent:
        return ""
    for name in metadata.object():
        metadata.maybe(name, Node.text)
    return metadata.maybe("conversation_id", Node.key) or ""


CHAT = Api(
    name="chat",
    title="Chat completions",
    path="/v1/chat/completions",
    dialect="openai",
    whole="openai_completion",
    prefix="chatcmpl-",
    fields=FIELDS,
    names={},
    read=read,
)
