"""For servers of raw text: requests that they can't answer, and the messages and variables for chat templates.

Servers apply a shape (`response_format`) from the first token on. vLLM, SGLang and llama.cpp wait for the end of the
reasoning, or leave room for calls, only if their own parsers read the text: without a parser they don't know where it
ends. So a shape is possible only for an answer without reasoning and calls.
"""

from collections.abc import Mapping
from itertools import groupby, takewhile

from tokenmill.apis.ask import BadAsk, Json
from tokenmill.apis.chat import NO_EFFORT
from tokenmill.apis.content import text_part
from tokenmill.caller.kinds.arguments import images_of, text_of, with_reasoning
from tokenmill.caller.kinds.kind import Plan

UNTHINKING: Mapping[str, bool] = {"enable_thinking": False, "thinking": False}
"""Variables by which chat templates turn reasoning off: Qwen, GLM and most others have the first one, DeepSeek, Kimi
and Granite the second."""

SYSTEM, DEVELOPER = "system", "developer"
"""Roles of instructions. OpenAI's newer clients send the second instead of the first."""

KNOW_DEVELOPER = frozenset({"harmony"})
"""Formats of models whose templates know the role `developer`. Others refuse it, or silently leave its messages out."""


def check_shape(plan: Plan) -> None:
    """Raise `BadAsk` for a shape of an answer that may have calls or reasoning."""
    ask = plan.ask
    if ask.response_format is None:
        return
    if plan.tools:
        why = "so it could not call a tool; leave it out, or set tool_choice to none"
        raise _unfit(plan, "response_format", why)
    if plan.opens_reasoning:
        raise _unfit(plan, "response_format", "and it begins with reasoning; leave it out")
    if ask.reasoning_effort not in (None, NO_EFFORT):
        name = plan.name_of("reasoning_effort")
        raise _unfit(plan, "reasoning_effort", f"so it could not reason; leave that out, or {name}")


def _unfit(plan: Plan, field: str, why: str) -> BadAsk:
    shape = plan.name_of("response_format")
    detail = f"{shape} applies to the answer of {plan.ask.model} from its first token on, {why}"
    return BadAsk(detail, plan.name_of(field), "unsupported_parameter")


def check_end(plan: Plan, *, continued: bool) -> None:
    """Raise `BadAsk` for a conversation that ends with the assistant, unless the client asks to continue its message.

    Otherwise some servers would begin a new message, and others continue this one. `continued` is whether the server
    takes the client's `continue_final_message`.
    """
    if plan.ask.messages[-1]["role"] != "assistant" or (continued and plan.ask.forwarded.get("continue_final_message")):
        return
    name = plan.name_of("messages")
    detail = f"the last message in {name} is the assistant's, which is not continued; end with a message of the user"
    raise BadAsk(detail, name, "unsupported_value")


def thinks(plan: Plan) -> bool:
    """Whether the model may write reasoning. If its prompt opens the reasoning it always does."""
    return plan.opens_reasoning or (plan.ask.thinks and plan.ask.response_format is None)


def template_variables(plan: Plan) -> Json:
    """Return the variables for the model's chat template. The client's own override ours."""
    given = plan.ask.forwarded.get("chat_template_kwargs")
    own = given if isinstance(given, dict) else {}
    return own if thinks(plan) else {**UNTHINKING, **own}


def template_messages(plan: Plan, *reasoning: str) -> list[Json]:
    """Return the conversation for a server that renders it, with reasoning under these names."""
    messages = one_system(plan.ask.messages, knows_developer=plan.format in KNOW_DEVELOPER)
    return [with_reasoning(_as_text(each), reasoning) for each in messages]


def _as_text(message: Json) -> Json:
    """Return an assistant's message with all its text as `content`, including a refusal's.

    Templates read nothing else, and some servers refuse a turn without it. Other messages are unchanged.
    """
    if message["role"] != "assistant":
        return message
    rest = {name: value for name, value in message.items() if name != "refusal"}
    return rest | {"content": text_of(message)}


def one_system(messages: list[Json], *, knows_developer: bool = False) -> list[Json]:
    """Return the conversation with one system message, at its beginning; later ones become the user's, in place.

    Qwen's newer templates refuse later system messages, and gpt-oss's silently leaves them out. A later one is joined
    with a neighboring turn of the user: some templates require user and assistant to alternate.
    """
    first = list(takewhile(_is_instruction, messages))
    developer = knows_developer and any(each["role"] == DEVELOPER for each in first)
    found = [_joined(first, DEVELOPER if developer else SYSTEM)] if first else []
    for of_user, turns in groupby(messages[len(first) :], lambda each: each["role"] in ("user", SYSTEM, DEVELOPER)):
        run = list(turns)
        found += [_joined(run, "user")] if of_user and any(map(_is_instruction, run)) else run
    return found


def _is_instruction(message: Json) -> bool:
    return message["role"] in (SYSTEM, DEVELOPER)


def _joined(messages: list[Json], role: str) -> Json:
    """Return messages joined into one, of this role."""
    first, *others = messages
    if not others:
        return first | {"role": role}
    if any(map(images_of, messages)):
        contents = [each["content"] for each in messages]
        parts = [part for each in contents for part in (each if isinstance(each, list) else [text_part(each)])]
        return {"role": role, "content": parts}
    return {"role": role, "content": "\n\n".join(map(text_of, messages))}
