"""Anthropic's Messages: what a request asks for."""

from collections.abc import Mapping, Sequence

from tokenmill.apis.api import Api, Field, Fields
from tokenmill.apis.ask import Ask, Json, ToolChoice
from tokenmill.apis.chat import CAPPED, SHAPED, conversation_of
from tokenmill.apis.messages_blocks import read_messages, read_system
from tokenmill.apis.reading import Node, numbers, shown
from tokenmill.apis.response_format import DEFAULT_NAME, schema_format
from tokenmill.apis.tools import CALLED, Choice, check_called, chosen, foreign_tool, function, named, worded

RANGES: Mapping[str, tuple[float, float]] = {"temperature": (0, 1), "top_p": (0, 1)}

NAMES: Mapping[str, str] = {
    "response_format": "output_config.format",
    "reasoning_effort": "output_config.effort",
    "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
    "stop": "stop_sequences",
}

FIELDS = Fields(
    Field("model", "used", "which model, and with it which server"),
    Field("max_tokens", "used", f"how long an answer may be, {CAPPED}; required"),
    Field("messages", "used", "user, assistant and system; text, images, calls, their results, and thinking"),
    Field(
        "system",
        "used",
        "a string or blocks of text; a first line `x-anthropic-billing-header: …`, as Claude Code's, goes only to the "
        "kind `anthropic`: elsewhere it would keep prompts from sharing a prefix, and caches from working",
    ),
    Field("tools", "used", "tools of the client, which have an `input_schema`"),
    Field(
        "tools.eager_input_streaming",
        "used",
        "true for any tool: calls are streamed as they grow, and one that breaks off stays cut off; default: whole",
    ),
    Field("tools.input_examples", "noted", "templates have no place for them"),
    Field(
        "tool_choice",
        "used",
        "`auto`, `any`, `none` or a tool; with `disable_parallel_tool_use` only the first call of raw text counts",
    ),
    Field("thinking", "used", "see its members"),
    Field(
        "thinking.type", "used", "`disabled` tells the model's template not to think; the others leave it to the model"
    ),
    Field("thinking.budget_tokens", "noted", "models do not count reasoning separately; `max_tokens` limits it, too"),
    Field("thinking.display", "noted", "thinking is passed on as the model server sends it"),
    Field("output_config", "used", "see its members"),
    Field(
        "output_config.effort",
        "used",
        "a word that the model knows; with raw text it is left out beside a `format`, as that answer has no reasoning",
    ),
    Field("output_config.format", "used", f"`json_schema`; {SHAPED}"),
    Field("stop_sequences", "used", "a list of strings"),
    Field("temperature", "used", "0 to 1"),
    Field("top_p", "used", "0 to 1"),
    Field("top_k", "forwarded", "servers of open models know it"),
    Field("stream", "used", "whether the answer comes in pieces"),
    Field("metadata", "used", "strings by name; they are not kept"),
    Field("metadata.user_id", "noted", "nothing is stored about the user"),
    Field("metadata.conversation_id", "used", "the conversation of the answer, and the key of its records"),
    Field("cache_control", "noted", "here and in every block: caching follows the model server's own settings"),
    Field("container", "refused", "nothing runs code here."),
    Field("context_management", "used", "see its members"),
    Field(
        "context_management.edits",
        "used",
        "edits that clear (`clear_…`) go to the kind `anthropic`; elsewhere nothing is left out of a conversation. "
        "Others are refused",
    ),
    Field("diagnostics", "refused", "there are none."),
    Field("inference_geo", "refused", "servers are chosen by the model's name."),
    Field("mcp_servers", "refused", "declare their tools in `tools`, and answer the calls.", accepts=([],)),
    Field("service_tier", "refused", "there is one tier.", accepts=("auto", "standard_only")),
    Field("speed", "refused", "there is one speed.", accepts=("standard",)),
    Field("user_profile_id", "refused", "there are no profiles."),
    Field("workspace_id", "refused", "there are no workspaces."),
    unknown="refused",
    about="Other fields are refused by name.",
)


def read(body: Json) -> Ask:
    """Return what the body asks for. Raises `BadAsk`."""
    node = Node(body)
    forwarded = FIELDS.check(node)
    node.maybe("top_k", lambda top_k: top_k.whole(0))
    thinking, output = FIELDS.check_within(node, "thinking"), FIELDS.check_within(node, "output_config")
    if (context := FIELDS.check_within(node, "context_management")) is not None:
        context.maybe("edits", _edits)
    declared = [] if node.at("tools").absent else list(node.at("tools").items())
    tools, stream = [_tool(tool) for tool in declared], node.maybe("stream", Node.flag) or False
    return Ask(
        model=node.need("model").filled(),
        max_tokens=node.need("max_tokens").whole(),
        messages=read_system(node.at("system")) + read_messages(node.need("messages")),
        parallel_tool_calls=_parallel(node.at("tool_choice")),
        response_format=output.maybe("format", _format) if output else None,
        stop=node.maybe("stop_sequences", lambda stop: [each.filled() for each in stop.items()]) or [],
        reasoning_effort=output.maybe("effort", Node.filled) if output else None,
        thinks=_thinks(thinking),
        forwarded=forwarded,
        stream=stream,
        stream_tool_input=stream and any(tool.at("eager_input_streaming").value for tool in declared),
        conversation=conversation_of(node),
        **chosen(tools, _choice(tools, node.at("tool_choice"))),
        **numbers(node, RANGES),
    )


def _tool(node: Node) -> Json:
    kind = node.at("type")
    if not kind.absent and kind.value != "custom":
        raise foreign_tool(kind)
    node.need("input_schema")
    check_called(node)
    node.maybe("eager_input_streaming", Node.flag)
    node.only("type", "name", "description", "input_schema", "strict", *_NOTED)
    return {"type": "function", "function": function(node, "input_schema")}


_NOTED = ("cache_control", "eager_input_streaming", "input_examples", *CALLED)
"""Members of a tool that the model does not see, even if they are accepted."""


_WORDS: Mapping[str, ToolChoice] = {"auto": "auto", "any": "required", "none": "none"}


def _choice(tools: Sequence[Json], node: Node) -> Choice:
    if node.absent:
        return {}
    kind = node.need("type")
    node.only("type", "name", "disable_parallel_tool_use")
    if kind.word(*_WORDS, "tool") == "tool":
        return named(tools, node.need("name"))
    return worded(tools, _WORDS[kind.text()], node)


def _parallel(node: Node) -> bool | None:
    """Whether an answer may have several calls, if the choice sets it."""
    alone = None if node.absent else node.maybe("disable_parallel_tool_use", Node.flag)
    return None if alone is None else not alone


def _edits(edits: Node) -> None:
    """Check what is to be left out of a conversation: an answer that saw more of it is not wrong."""
    for edit in edits.items():
        kind = edit.need("type")
        if not kind.text().startswith(_CLEARS):
            told = f"can't be {shown(kind.text())}: nothing here sums a conversation up; known is `{_CLEARS}…`."
            raise kind.bad(told, "unsupported_value")


_CLEARS = "clear_"


def _thinks(thinking: Node | None) -> bool:
    if thinking is None:
        return True
    thinking.maybe("budget_tokens", Node.whole)
    return thinking.need("type").word("enabled", "disabled", "adaptive", "between_tools") != "disabled"


def _format(node: Node) -> Json:
    node.need("type").word("json_schema")
    node.only("type", "schema")
    return schema_format(node, DEFAULT_NAME)


MESSAGES = Api(
    name="messages",
    title="Messages",
    path="/v1/messages",
    dialect="anthropic",
    whole="anthropic_message",
    prefix="msg_",
    fields=FIELDS,
    names=NAMES,
    read=read,
)
