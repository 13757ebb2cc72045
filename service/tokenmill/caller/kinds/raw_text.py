"""What raw text can't be at once, and what the templates of its models are told.

Servers hold text to a shape from its first token on. vLLM, SGLang and llama.cpp wait for the end of the reasoning, or
leave room for calls, only where their own parsers read the text: without those nobody tells them where it ends. So a
shape is had of an answer that is text and nothing else.
"""

from collections.abc import Mapping
from itertools import groupby, takewhile

from tokenmill.apis.ask import BadAsk, Json
from tokenmill.apis.chat import NO_EFFORT
from tokenmill.apis.content import text_part
from tokenmill.caller.kinds.arguments import images_of, text_of, with_reasoning
from tokenmill.caller.kinds.kind import Plan

UNTHINKING: Mapping[str, bool] = {"enable_thinking": False, "thinking": False}
"""Variables of chat templates: Qwen, GLM and most others have the first one, DeepSeek, Kimi and Granite the second."""

SYSTEM, DEVELOPER = "system", "developer"
"""The second is the role that OpenAI's newer clients send in place of the first."""

KNOW_DEVELOPER = frozenset({"harmony"})
"""Formats of models whose templates know that role. Others refuse it, or leave its messages out and say nothing."""


def check_shape(plan: Plan) -> None:
    """Raise `BadAsk` where a shape is wanted of what has to be something else, too."""
    ask = plan.ask
    if ask.response_format is None:
        return
    if plan.tools:
        why = "so it could not call a tool; leave it out, or say that no tool is to be called"
        raise _unfit(plan, "response_format", why)
    if plan.opens_reasoning:
        raise _unfit(plan, "response_format", "and it begins with reasoning; leave it out")
    if ask.reasoning_effort not in (None, NO_EFFORT):
        name = plan.name_of("reasoning_effort")
        raise _unfit(plan, "reasoning_effort", f"so it could not reason; leave that out, or {name}")


def _unfit(plan: Plan, field: str, why: str) -> BadAsk:
    shape = plan.name_of("response_format")
    detail = f"{shape} holds the text of {plan.ask.model} to a shape from its first token on, {why}"
    return BadAsk(detail, plan.name_of(field), "unsupported_parameter")


def check_end(plan: Plan, *, continued: bool) -> None:
    """Raise `BadAsk` for a conversation that ends with the assistant: some servers would begin another answer, others
    continue this one. `continued`: whether the server lets a client ask for the latter, by `continue_final_message`.
    """
    if plan.ask.messages[-1]["role"] != "assistant" or (continued and plan.ask.forwarded.get("continue_final_message")):
        return
    name = plan.name_of("messages")
    detail = f"the last message in {name} is the assistant's, which is not continued; end with a message of the user"
    raise BadAsk(detail, name, "unsupported_value")


def thinks(plan: Plan) -> bool:
    """Whether the model may think. One whose prompt opens the reasoning does so, whatever it is told."""
    return plan.opens_reasoning or (plan.ask.thinks and plan.ask.response_format is None)


def template_variables(plan: Plan) -> Json:
    """Those of the model's chat template; the client's own count."""
    said = plan.ask.forwarded.get("chat_template_kwargs")
    own = said if isinstance(said, dict) else {}
    return own if thinks(plan) else {**UNTHINKING, **own}


def template_messages(plan: Plan, *reasoning: str) -> list[Json]:
    """The conversation, for a server that renders it and knows what was thought by these names."""
    messages = one_system(plan.ask.messages, knows_developer=plan.format in KNOW_DEVELOPER)
    return [with_reasoning(_as_text(each), reasoning) for each in messages]


def _as_text(message: Json) -> Json:
    """Return a message of the assistant with all its text as `content`, a refusal's words included: templates read
    nothing else, and some servers refuse a turn without it. Other messages are unchanged.
    """
    if message["role"] != "assistant":
        return message
    rest = {name: value for name, value in message.items() if name != "refusal"}
    return rest | {"content": text_of(message)}


def one_system(messages: list[Json], *, knows_developer: bool = False) -> list[Json]:
    """The conversation with one message of the system, at its beginning; later ones are the user's, in their place.

    Qwen's newer templates refuse any other, gpt-oss's leaves it out and says nothing. Where the user's turn is beside
    it, both are one turn: some templates want user and assistant to alternate.
    """
    first = list(takewhile(_is_the_system, messages))
    developer = knows_developer and any(each["role"] == DEVELOPER for each in first)
    told = [_joined(first, DEVELOPER if developer else SYSTEM)] if first else []
    for asks, turns in groupby(messages[len(first) :], lambda each: each["role"] in ("user", SYSTEM, DEVELOPER)):
        run = list(turns)
        told += [_joined(run, "user")] if asks and any(map(_is_the_system, run)) else run
    return told


def _is_the_system(message: Json) -> bool:
    return message["role"] in (SYSTEM, DEVELOPER)


def _joined(messages: list[Json], role: str) -> Json:
    """Messages as one of this role."""
    first, *others = messages
    if not others:
        return first | {"role": role}
    if any(map(images_of, messages)):
        contents = [each["content"] for each in messages]
        parts = [part for each in contents for part in (each if isinstance(each, list) else [text_part(each)])]
        return {"role": role, "content": parts}
    return {"role": role, "content": "\n\n".join(map(text_of, messages))}
