"""OpenAI's Responses: what a request asks for."""

from collections.abc import Mapping

from tokenmill.apis.api import Api, Field, Fields
from tokenmill.apis.ask import Ask, Json
from tokenmill.apis.chat import CAPPED, RANGES, SHAPED, UNTHINKING, conversation_of, thinks
from tokenmill.apis.reading import Said, numbers
from tokenmill.apis.response_format import read_format
from tokenmill.apis.responses_input import WHOLE, read_input
from tokenmill.apis.tools import chosen, foreign_tool, function, openai_choice

NAMES: Mapping[str, str] = {
    "messages": "input",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
}

FIELDS = Fields(
    Field("model", "used", "which model, and with it which server"),
    Field("input", "used", "a string, or the conversation: messages, calls, their outputs, and reasoning"),
    Field("instructions", "used", "a system message in front of the input"),
    Field("tools", "used", "functions"),
    Field("tool_choice", "used", "`none`, `auto`, `required`, a function, or `allowed_tools`"),
    Field("parallel_tool_calls", "used", "whether an answer may have several calls"),
    Field("text", "used", "see its members"),
    Field("text.format", "used", f"`text`, `json_object` or `json_schema`; {SHAPED}"),
    Field("text.verbosity", "forwarded", "a word that the model knows"),
    Field("reasoning", "used", "see its members"),
    Field("reasoning.effort", "used", f"a word that the model knows; {UNTHINKING}"),
    Field("reasoning.summary", "noted", "reasoning is told as it is"),
    Field("reasoning.generate_summary", "noted", "reasoning is told as it is"),
    Field("reasoning.context", "refused", "the template decides which reasoning it shows.", accepts=("auto",)),
    Field("reasoning.mode", "refused", "there is one mode.", accepts=("standard",)),
    Field("max_output_tokens", "used", f"how long an answer may be, {CAPPED}"),
    Field("temperature", "used", "0 to 2"),
    Field("top_p", "used", "0 to 1"),
    Field("presence_penalty", "used", "-2 to 2"),
    Field("frequency_penalty", "used", "-2 to 2"),
    Field("stream", "used", "whether the answer comes in pieces"),
    Field("stream_options", "noted", "pieces are not padded"),
    Field("background", "used", "the answer goes on without a reader"),
    Field("conversation", "used", "its id, and the key of its records; earlier answers are not added to the input"),
    Field("metadata", "used", "strings by name; they are not kept"),
    Field("metadata.conversation_id", "used", "the conversation, where `conversation` says none"),
    Field("max_tool_calls", "noted", "it counts calls of tools that the server runs, and there are none"),
    Field("store", "noted", "an answer is kept as long as its topic keeps it"),
    Field("include", "used", "`reasoning.encrypted_content` alone, without effect: reasoning is told as it is"),
    Field("prompt_cache_key", "noted", "the model's server caches as it is set up to"),
    Field("prompt_cache_options", "noted", "the model's server caches as it is set up to"),
    Field("prompt_cache_retention", "noted", "the model's server caches as it is set up to"),
    Field("safety_identifier", "noted", "nothing is kept about who asks"),
    Field("user", "noted", "nothing is kept about who asks"),
    Field("previous_response_id", "refused", f"answers are not added to a request. {WHOLE}"),
    Field("prompt", "refused", f"no prompts are kept. {WHOLE}"),
    Field("context_management", "refused", f"nothing is left out of a conversation. {WHOLE}", accepts=([],)),
    Field("truncation", "refused", f"nothing is left out of a conversation. {WHOLE}", accepts=("disabled",)),
    Field("service_tier", "refused", "there is one tier.", accepts=("auto", "default")),
    Field("top_logprobs", "refused", "events carry no probabilities.", accepts=(0,)),
    Field("moderation", "refused", "nothing is moderated here."),
    Field("image", "refused", "answers are text."),
    Field("background_options", "refused", "`background` alone says it."),
    Field("access_programs", "refused", "there are none."),
    unknown="refused",
    about="Other fields are refused by name.",
)


def read(body: Json) -> Ask:
    """What the body asks for. Raises `BadAsk`."""
    said = Said(body)
    forwarded = FIELDS.check(said)
    said.maybe("include", _include)
    text, reasoning = FIELDS.check_within(said, "text"), FIELDS.check_within(said, "reasoning")
    effort = reasoning.maybe("effort", Said.filled) if reasoning else None
    tools = [] if said.at("tools").absent else [_tool(tool) for tool in said.at("tools").items()]
    if text and (verbosity := text.maybe("verbosity", Said.text)):
        forwarded["verbosity"] = verbosity
    return Ask(
        model=said.need("model").filled(),
        messages=_instructions(said) + read_input(said.need("input")),
        parallel_tool_calls=said.maybe("parallel_tool_calls", Said.flag),
        response_format=text.maybe("format", lambda format_: read_format(format_, within=False)) if text else None,
        max_tokens=said.maybe("max_output_tokens", Said.whole),
        reasoning_effort=effort,
        thinks=thinks(effort),
        forwarded=forwarded,
        stream=said.maybe("stream", Said.flag) or False,
        background=said.maybe("background", Said.flag) or False,
        conversation=_conversation(said),
        **chosen(tools, openai_choice(tools, said.at("tool_choice"), within=False)),
        **numbers(said, RANGES),
    )


def _instructions(said: Said) -> list[Json]:
    text = said.maybe("instructions", Said.text)
    return [{"role": "system", "content": text}] if text else []


def _tool(said: Said) -> Json:
    kind = said.need("type")
    if kind.value != "function":
        raise foreign_tool(kind)
    said.only("type", "name", "description", "parameters", "strict")
    return {"type": "function", "function": function(said)}


def _include(said: Said) -> None:
    for each in said.items():
        each.word("reasoning.encrypted_content")


def _conversation(said: Said) -> str:
    named = conversation_of(said)
    return said.maybe("conversation", _conversation_id) or named


def _conversation_id(said: Said) -> str:
    if isinstance(said.value, str):
        return said.key()
    said.only("id")
    return said.need("id").key()


RESPONSES = Api(
    name="responses",
    title="Responses",
    path="/v1/responses",
    dialect="openai_responses",
    whole="openai_responses",
    prefix="resp_",
    fields=FIELDS,
    names=NAMES,
    read=read,
)
