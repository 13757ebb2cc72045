"""OpenAI's Responses: what a request asks for."""

from collections import Counter
from collections.abc import Mapping

from tokenmill.apis.api import Api, Field, Fields
from tokenmill.apis.ask import Ask, Json
from tokenmill.apis.chat import CAPPED, RANGES, SHAPED, TEXTS, UNTHINKING, conversation_of, thinks
from tokenmill.apis.namespaces import choice_with_one_name, members, with_one_name
from tokenmill.apis.reading import Node, numbers, shown
from tokenmill.apis.response_format import read_format
from tokenmill.apis.responses_input import WHOLE, read_input
from tokenmill.apis.tools import chosen, flat_tool, foreign_tool, openai_choice

NAMES: Mapping[str, str] = {
    "messages": "input",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
}

FIELDS = Fields(
    Field("model", "used", "which model, and with it which server"),
    Field("input", "used", "a string, or the conversation: messages, calls, their outputs, and reasoning"),
    Field("instructions", "used", "a system message before the input"),
    Field(
        "tools",
        "used",
        f"functions, tools that take a text (`custom`: {TEXTS}), and groups of both (`namespace`). A model calls a "
        "member `<namespace>__<name>`; the answer has the two names separately; read by its id, the joined one once "
        "fronts have forgotten its request (`front.remember_s`, earlier where 32 MiB of different names come "
        "meanwhile). `web_search` beside tools of the client is left out, as Codex declares it unasked: the model "
        "gets no such tool, and does not search. Alone and in `tool_choice` it is refused, like others that a server "
        "would have to run",
    ),
    Field("tool_choice", "used", "`none`, `auto`, `required`, a tool, or `allowed_tools`"),
    Field(
        "parallel_tool_calls",
        "used",
        "whether an answer may have several calls; with raw text, calls after the first are dropped",
    ),
    Field("text", "used", "see its members"),
    Field("text.format", "used", f"`text`, `json_object` or `json_schema`; {SHAPED}"),
    Field("text.verbosity", "forwarded", "a word that the model knows"),
    Field("reasoning", "used", "see its members"),
    Field("reasoning.effort", "used", f"a word that the model knows; {UNTHINKING}"),
    Field("reasoning.summary", "noted", "reasoning is passed on unchanged"),
    Field("reasoning.generate_summary", "noted", "reasoning is passed on unchanged"),
    Field("reasoning.context", "refused", "the template decides which reasoning it shows.", accepts=("auto",)),
    Field("reasoning.mode", "refused", "there is one mode.", accepts=("standard",)),
    Field("max_output_tokens", "used", f"how long an answer may be, {CAPPED}"),
    Field("temperature", "used", "0 to 2"),
    Field("top_p", "used", "0 to 1"),
    Field("presence_penalty", "used", "-2 to 2"),
    Field("frequency_penalty", "used", "-2 to 2"),
    Field("stream", "used", "whether the answer comes in pieces"),
    Field("stream_options", "noted", "pieces are not padded"),
    Field(
        "background",
        "used",
        "the answer continues without a reader; without `stream` the request is answered immediately, as `queued`",
    ),
    Field("conversation", "used", "its id, and the key of its records; earlier answers are not added to the input"),
    Field("metadata", "used", "strings by name; they are not kept"),
    Field("metadata.conversation_id", "used", "the conversation, if `conversation` is absent"),
    Field("max_tool_calls", "noted", "it counts calls of server-side tools, and there are none"),
    Field("store", "noted", "an answer is kept as long as its topic keeps it"),
    Field(
        "include",
        "used",
        "only `reasoning.encrypted_content`, without effect: reasoning is passed on unchanged, with its signature",
    ),
    Field("prompt_cache_key", "noted", "caching follows the model server's own settings"),
    Field("prompt_cache_options", "noted", "caching follows the model server's own settings"),
    Field("prompt_cache_retention", "noted", "caching follows the model server's own settings"),
    Field("client_metadata", "noted", "nothing is stored about the user"),
    Field("safety_identifier", "noted", "nothing is stored about the user"),
    Field("user", "noted", "nothing is stored about the user"),
    Field("previous_response_id", "refused", f"answers are not added to a request. {WHOLE}"),
    Field("prompt", "refused", f"no prompts are kept. {WHOLE}"),
    Field("context_management", "refused", f"nothing is left out of a conversation. {WHOLE}", accepts=([],)),
    Field("truncation", "refused", f"nothing is left out of a conversation. {WHOLE}", accepts=("disabled",)),
    Field("service_tier", "refused", "there is one tier.", accepts=("auto", "default")),
    Field("top_logprobs", "refused", "events carry no probabilities.", accepts=(0,)),
    Field("moderation", "refused", "nothing is moderated here."),
    Field("image", "refused", "answers are text."),
    Field("background_options", "refused", "use `background` alone."),
    Field("access_programs", "refused", "there are none."),
    unknown="refused",
    about="Other fields are refused by name.",
)


def read(body: Json) -> Ask:
    """Return what the body asks for. Raises `BadAsk`."""
    node = Node(body)
    forwarded = FIELDS.check(node)
    node.maybe("include", _include)
    text, reasoning = FIELDS.check_within(node, "text"), FIELDS.check_within(node, "reasoning")
    effort = reasoning.maybe("effort", Node.filled) if reasoning else None
    tools, namespaces = _tools(node.at("tools"))
    choice = choice_with_one_name(node.at("tool_choice"), tools, namespaces)
    if text and (verbosity := text.maybe("verbosity", Node.text)):
        forwarded["verbosity"] = verbosity
    return Ask(
        model=node.need("model").filled(),
        messages=_instructions(node) + read_input(with_one_name(node.need("input"))),
        namespaces=namespaces,
        parallel_tool_calls=node.maybe("parallel_tool_calls", Node.flag),
        response_format=text.maybe("format", lambda format_: read_format(format_, within=False)) if text else None,
        max_tokens=node.maybe("max_output_tokens", Node.whole),
        reasoning_effort=effort,
        thinks=thinks(effort),
        forwarded=forwarded,
        stream=node.maybe("stream", Node.flag) or False,
        background=node.maybe("background", Node.flag) or False,
        conversation=_conversation(node),
        **chosen(tools, openai_choice(tools, choice, within=False)),
        **numbers(node, RANGES),
    )


def _instructions(node: Node) -> list[Json]:
    text = node.maybe("instructions", Node.text)
    return [{"role": "system", "content": text}] if text else []


def _tools(node: Node) -> tuple[list[Json], dict[str, tuple[str, str]]]:
    """Return the tools, without searches beside others, and the client's two names of some of them."""
    tools, namespaces, searches = list[Json](), dict[str, tuple[str, str]](), list[Node]()
    for each in () if node.absent else node.items():
        kind = each.need("type")
        if _is_search(kind):
            searches.append(kind)
        elif kind.value != "namespace":
            tools.append(flat_tool(each))
        else:
            for tool, names in members(each):
                tools.append(tool)
                namespaces[tool["function"]["name"]] = names
    if searches and not tools:
        raise foreign_tool(searches[0])
    declared = Counter(tool["function"]["name"] for tool in tools)
    if twice := [name for name in namespaces if declared[name] > 1]:
        raise node.bad(f"declare {shown(twice[0])} twice: a model has one name for the tool of a namespace.")
    return tools, namespaces


def _is_search(kind: Node) -> bool:
    """Whether a tool searches the web, whatever its version: it may be left out, as no answer has to use it."""
    return isinstance(kind.value, str) and kind.value.startswith(_SEARCH)


_SEARCH = "web_search"


def _include(node: Node) -> None:
    for each in node.items():
        each.word("reasoning.encrypted_content")


def _conversation(node: Node) -> str:
    named = conversation_of(node)
    return node.maybe("conversation", _conversation_id) or named


def _conversation_id(node: Node) -> str:
    if isinstance(node.value, str):
        return node.key()
    node.only("id")
    return node.need("id").key()


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
