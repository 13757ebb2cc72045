"""The prompt of a request, for servers that complete prompts: rendered here, or by the server itself."""

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
"""Most characters of an answer's beginning that are looked for at the end of the prompt. Prompts end with the opening
of a turn, some markers. The search tries each length and blocks the process, and the beginning may be most of an
answer, if another caller wrote it."""


async def prompted(
    served: Served, plan: Plan, renderer: Renderer, http: Http, url: str, headers: Mapping[str, str]
) -> Plan:
    """Return the plan with its prompt, if its kind of server needs one. Raises `UpstreamFailed`."""
    if served.template:
        prompt = await _rendered(served.template, plan, renderer)
    elif (call := served.kind.rendering(plan)) is not None:
        answer = await http.whole(url, call, headers, served.upstream)
        try:
            found = served.kind.prompt_of(answer)
        except NOT_JSON as problem:
            raise UpstreamFailed("the model's server did not answer with JSON", "unreadable") from problem
        if found is None:
            detail = "the model's server did not return the prompt; give the upstream a template_file"
            raise UpstreamFailed(detail, "unreadable", again=False)
        prompt = found
    else:
        return plan
    return msgspec.structs.replace(plan, prompt=prompt, begins=without_overlap(prompt, plan.begins))


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
    except OSError as problem:
        detail = "the process that renders the prompt can't be started now; try again later"
        logged = f"{detail}: {problem.strerror or problem}"
        raise NotAsked(detail, "full", HTTPStatus.SERVICE_UNAVAILABLE, logged=logged) from problem
    except CannotRender as problem:
        logged = "the chat template does not render"  # the error's own text may quote the prompt
        raise NotAsked(str(problem), "refused", HTTPStatus.BAD_REQUEST, again=False, logged=logged) from problem


def for_template(message: Json) -> Json:
    """Return a message as templates read it: its text as one string, arguments of calls as objects."""
    changed: Json = {"content": text_of(message)}  # never null or absent: templates append to it
    if reasoning := reasoning_of(message):
        changed["reasoning_content"] = reasoning
    if message.get("tool_calls"):
        changed["tool_calls"] = [_call(call) for call in message["tool_calls"]]
    return {**message, **changed}


def _call(call: Json) -> Json:
    function = call["function"]
    return {**call, "function": {**function, "arguments": read_arguments(function.get("arguments", "{}"))}}


def without_overlap(prompt: str, begins: str) -> str:
    """Return the answer's beginning without the part that the prompt already ends with.

    Some templates open the model's turn.
    """
    most = min(len(begins), len(prompt), OVERLAP_CHARS)
    overlap = next((size for size in range(most, 0, -1) if prompt.endswith(begins[:size])), 0)
    return begins[overlap:] if overlap > 1 else begins
