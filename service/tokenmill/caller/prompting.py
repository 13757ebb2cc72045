"""The prompt of a request, where a server is to complete one: rendered here, or by the server that completes it."""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from tokenmill.apis.ask import Json
from tokenmill.caller.failure import NotAsked, UpstreamFailed
from tokenmill.caller.http import Http
from tokenmill.caller.kinds import Plan
from tokenmill.caller.kinds.arguments import read_arguments, reasoning_of, text_of
from tokenmill.caller.kinds.raw_text import DEVELOPER, one_system, template_variables
from tokenmill.caller.renderer import NoTurn, Renderer
from tokenmill.caller.served import Served
from tokenmill.errors import NOT_JSON
from tokenmill.templates.rendering import CannotRender, Template

OVERLAP_CHARS = 4_096
"""At most, of a beginning that a prompt ends with already: it is a turn's opening, some markers, and each length is
looked for. What is begun is all of an answer where another caller began it, and no other answer goes on meanwhile."""


async def prompted(
    served: Served, plan: Plan, renderer: Renderer, http: Http, url: str, headers: Mapping[str, str]
) -> Plan:
    """The plan with its prompt, if it needs one. Raises `UpstreamFailed`."""
    if served.template:
        prompt = await _rendered(served.template, plan, renderer)
    elif (call := served.kind.rendering(plan)) is not None:
        answer = await http.whole(url, call, headers, served.upstream)
        try:
            found = served.kind.prompt_of(answer)
        except NOT_JSON as problem:
            raise UpstreamFailed("the model's server answered no JSON", "unreadable") from problem
        if found is None:
            detail = "the model's server does not say its prompt; give the upstream a template_file"
            raise UpstreamFailed(detail, "unreadable", again=False)
        prompt = found
    else:
        return plan
    return msgspec.structs.replace(plan, prompt=prompt, begins=unsaid(prompt, plan.begins))


async def _rendered(template: Template, plan: Plan, renderer: Renderer) -> str:
    ask = plan.ask
    further = template_variables(plan)
    if ask.reasoning_effort is not None:
        further = {**further, "reasoning_effort": ask.reasoning_effort}
    messages = one_system([for_template(each) for each in ask.messages], knows_developer=DEVELOPER in template.text)
    try:
        return await renderer.render(template, messages, plan.tools, further, plan.upstream.queue_s)
    except NoTurn:
        detail = f"the prompt could not be rendered within {plan.upstream.queue_s:g} s, after others; try again later"
        raise NotAsked(detail, "full", HTTPStatus.TOO_MANY_REQUESTS, again=False) from None
    except CannotRender as problem:
        logged = "the chat template does not render"  # its own words may be the prompt's
        raise NotAsked(str(problem), "refused", HTTPStatus.BAD_REQUEST, again=False, logged=logged) from problem


def for_template(message: Json) -> Json:
    """Return a message as templates read it: text in one piece, arguments of calls as objects."""
    changed: Json = {"content": text_of(message)}  # templates add to it, also where it is null or absent
    if reasoning := reasoning_of(message):
        changed["reasoning_content"] = reasoning
    if message.get("tool_calls"):
        changed["tool_calls"] = [_call(call) for call in message["tool_calls"]]
    return {**message, **changed}


def _call(call: Json) -> Json:
    function = call["function"]
    return {**call, "function": {**function, "arguments": read_arguments(function.get("arguments", "{}"))}}


def unsaid(prompt: str, begins: str) -> str:
    """What of the beginning the prompt does not end with already: some templates open the turn of the model."""
    most = min(len(begins), len(prompt), OVERLAP_CHARS)
    overlap = next((size for size in range(most, 0, -1) if prompt.endswith(begins[:size])), 0)
    return begins[overlap:] if overlap > 1 else begins
