"""What raw text can't be at once, and what the templates of its models are told.

Servers hold text to a shape from its first token on. vLLM, SGLang and llama.cpp wait for the end of the reasoning, or
leave room for calls, only where their own parsers read the text: without those nobody tells them where it ends. So a
shape is had of an answer that is text and nothing else.
"""

from collections.abc import Mapping

from tokenmill.apis.ask import BadAsk, Json
from tokenmill.apis.chat import NO_EFFORT
from tokenmill.caller.kinds.kind import Plan

UNTHINKING: Mapping[str, bool] = {"enable_thinking": False, "thinking": False}
"""Variables of chat templates: Qwen, GLM and most others have the first one, DeepSeek, Kimi and Granite the second."""

DEVELOPER = "developer"
"""The role that OpenAI's newer clients send in place of the system's."""

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


def thinks(plan: Plan) -> bool:
    """Whether the model may think. One whose prompt opens the reasoning does so, whatever it is told."""
    return plan.opens_reasoning or (plan.ask.thinks and plan.ask.response_format is None)


def template_variables(plan: Plan) -> Json:
    """Those of the model's chat template; the client's own count."""
    said = plan.ask.forwarded.get("chat_template_kwargs")
    own = said if isinstance(said, dict) else {}
    return own if thinks(plan) else {**UNTHINKING, **own}


def template_messages(plan: Plan) -> list[Json]:
    """The conversation, for a server that renders it: a developer is the system where templates know none."""
    messages = plan.ask.messages
    return messages if plan.format in KNOW_DEVELOPER else of_the_system(messages)


def of_the_system(messages: list[Json]) -> list[Json]:
    """The conversation, with the developer as the system."""
    return [each | {"role": "system"} if each["role"] == DEVELOPER else each for each in messages]
