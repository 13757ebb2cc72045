"""The prompt of a request: rendered here, or by the server that completes it."""

import asyncio
import resource
import time
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.calling import HI, HISTORY, TOOL, chat, model, plan_of
from tests.support.model_servers.llama_cpp import LlamaCpp
from tests.support.model_servers.ollama import Ollama
from tests.support.model_servers.serving import FakeModelServer
from tests.support.model_servers.speech import Script
from tests.support.raw_server import answer, raw_server
from tokenmill.apis.ask import Json
from tokenmill.caller.failure import NotAsked, UpstreamFailed
from tokenmill.caller.http import Http
from tokenmill.caller.kinds import Plan, find_kind
from tokenmill.caller.prompting import OVERLAP_CHARS, for_template, prompted, without_overlap
from tokenmill.caller.renderer import Renderer

TEMPLATE = (
    "{% for tool in tools or [] %}[{{ tool.function.name }}]{% endfor %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content + '' }}"
    "{% for call in m.tool_calls or [] %}({{ call.function.arguments.zone }}){% endfor %}{% endfor %}"
    "{{ reasoning_effort or '' }}{{ mood or '' }}"
    "{{ '(quiet)' if enable_thinking is defined and not enable_thinking else '' }}<assistant>"
)


@pytest.fixture
async def renderer() -> AsyncIterator[Renderer]:
    made = Renderer()
    yield made
    await made.close()


async def prompt(kind: str, url: str, renderer: Renderer, body: Json, **settings: Any) -> Plan:
    async with Http() as http:
        return await prompted(model(kind, **settings), plan_of(kind, body, **settings), renderer, http, url, {})


@pytest.fixture
def template(tmp_path: Path) -> str:
    file = tmp_path / "t.jinja"
    file.write_text(TEMPLATE)
    return str(file)


async def test_a_template_renders_the_conversation(template: str, renderer: Renderer) -> None:
    """Texts in one piece, arguments as objects, the tools, and what the request says besides."""
    body = chat(*HISTORY, tools=[TOOL], reasoning_effort="low", chat_template_kwargs={"mood": "!"})
    plan = await prompt("completions", "", renderer, body, template_file=template)
    assert plan.prompt == "[now]<system>Be brief.\n\nNo jokes.<user>hi<assistant>(CET)<tool>noonlow!<assistant>"
    quiet = await prompt("completions", "", renderer, chat(reasoning_effort="none"), template_file=template)
    assert quiet.prompt == "<user>hinone(quiet)<assistant>"
    none = chat(tools=[TOOL], tool_choice="none", chat_template_kwargs="?")
    assert (await prompt("completions", "", renderer, none, template_file=template)).prompt == "<user>hi<assistant>"


STRICT_IDS = (
    "{% for m in messages %}{% for call in m.tool_calls or [] %}"
    "{% if call.id|length != 9 %}{{ raise_exception('IDs should be alphanumeric strings with length 9!') }}{% endif %}"
    "({{ call.id }}){% endfor %}{% if m.role == 'tool' %}<{{ m.tool_call_id }}>{% endif %}{% endfor %}"
)
"""As the templates of Mistral's models have it."""


@pytest.mark.parametrize("format_", ["mistral_args", "mistral_json", "hermes"])
async def test_a_template_that_wants_short_ids_of_calls_gets_them(
    format_: str, tmp_path: Path, renderer: Renderer
) -> None:
    """Those that were made here for calls without one are longer, and come back with the history."""
    (tmp_path / "t.jinja").write_text(STRICT_IDS)
    made = "call_0123456789abcdef01234567"
    called = HISTORY[3] | {"tool_calls": [HISTORY[3]["tool_calls"][0] | {"id": made}]}
    body = chat(HI, called, HISTORY[4] | {"tool_call_id": made}, tools=[TOOL])
    settings = {"template_file": str(tmp_path / "t.jinja"), "format": format_}
    plan = await prompt("completions", "", renderer, body, **settings)
    assert plan.prompt is not None
    call, result = plan.prompt[1:10], plan.prompt[12:21]
    assert (plan.prompt, call.isalnum(), call) == (f"({call})<{result}>", True, result)


@pytest.mark.parametrize(("knows", "role"), [("", "system"), ("{# developer #}", "developer")])
async def test_a_developer_is_the_system_where_a_template_does_not_know_the_role(
    knows: str, role: str, tmp_path: Path, renderer: Renderer
) -> None:
    """Most leave out messages of roles that they do not know, and say nothing."""
    (tmp_path / "t.jinja").write_text(f"{knows}{{% for m in messages %}}<{{{{ m.role }}}}>{{% endfor %}}")
    plan = await prompt("completions", "", renderer, chat(*HISTORY[1:3]), template_file=str(tmp_path / "t.jinja"))
    assert plan.prompt == f"<{role}><user>"


ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


async def test_a_prompt_that_is_not_rendered_in_time_is_refused_as_one_too_many(
    tmp_path: Path, renderer: Renderer
) -> None:
    """It waits for other prompts of its template no longer than for a place."""
    (tmp_path / "t.jinja").write_text(ENDLESS)
    settings = {"template_file": str(tmp_path / "t.jinja"), "queue_s": 0.01}
    first = asyncio.create_task(prompt("completions", "", renderer, chat(), **settings))
    await asyncio.sleep(0)
    try:
        with pytest.raises(NotAsked, match="could not be rendered within") as problem:
            await prompt("completions", "", renderer, chat(), **settings)
        assert (problem.value.status, problem.value.kind, problem.value.again) == (429, "full", False)
    finally:
        first.cancel()
        await asyncio.wait((first,))


async def test_a_prompt_for_which_no_process_can_be_started_may_be_tried_again(
    template: str, renderer: Renderer
) -> None:
    """The next one is rendered once there are files, or processes, again."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    served = model("completions", template_file=template)
    plan = plan_of("completions", chat(), template_file=template)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        with pytest.raises(NotAsked) as problem:
            await prompted(served, plan, renderer, Http(), "", {})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert (problem.value.status, problem.value.kind, problem.value.again) == (503, "full", True)
    assert "Too many open files" in problem.value.logged
    assert (await prompt("completions", "", renderer, chat(), template_file=template)).prompt == "<user>hi<assistant>"


ONE_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
    "{{ raise_exception('System message must be at the beginning.') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}{% endfor %}"
)
"""As the templates of Qwen's newer models have it."""


async def test_a_template_that_takes_the_system_first_alone_gets_it_so(tmp_path: Path, renderer: Renderer) -> None:
    """Clients have more of it to say: in two messages, or in the middle."""
    (tmp_path / "t.jinja").write_text(ONE_SYSTEM)
    answer, hook = {"role": "assistant", "content": "y"}, {"role": "system", "content": "hook"}
    body = chat(*HISTORY[:3], answer, HI, hook)
    plan = await prompt("completions", "", renderer, body, template_file=str(tmp_path / "t.jinja"))
    assert plan.prompt == "<system>Be brief.\n\nNo jokes.<user>hi<assistant>y<user>hi\n\nhook"


async def test_a_template_goes_before_the_server_s_own(template: str, renderer: Renderer) -> None:
    """Which is not asked, then."""
    plan = await prompt("ollama", "http://nowhere.invalid", renderer, chat(), template_file=template)
    assert plan.prompt == "<user>hi<assistant>"


@pytest.mark.parametrize("text", ["{{ raise_exception('roles must alternate') }}", "{{ messages.nothing.at.all }}"])
async def test_a_conversation_that_does_not_render_is_the_client_s_to_change(
    text: str, tmp_path: Path, renderer: Renderer
) -> None:
    """It is not asked for again: it would not render then."""
    (tmp_path / "t.jinja").write_text(text)
    with pytest.raises(NotAsked, match="does not render") as problem:
        await prompt("completions", "", renderer, chat(), template_file=str(tmp_path / "t.jinja"))
    assert (problem.value.status, problem.value.kind, problem.value.again) == (400, "refused", False)


@pytest.mark.parametrize(("kind", "server"), [("llama.cpp", LlamaCpp), ("ollama", Ollama)])
async def test_a_server_says_its_prompt(kind: str, server: type[FakeModelServer], renderer: Renderer) -> None:
    """Without generating anything."""
    async with server(lambda _: Script("never")) as fake:
        plan = await prompt(kind, fake.url, renderer, chat(*HISTORY, tools=[TOOL]))
        assert fake.generations == []
    assert plan.prompt is not None
    assert plan.prompt.startswith("<|im_start|>system\n<tools>\nnow")
    assert plan.prompt.endswith("<|im_start|>assistant\n")


@pytest.mark.parametrize("kind", ["llama.cpp", "ollama"])
@pytest.mark.parametrize("said", [b"{}", b'{"prompt":null,"_debug_info":null}', b'{"message":{"content":"Hello"}}'])
async def test_a_server_that_does_not_say_its_prompt_is_told_of(kind: str, said: bytes, renderer: Renderer) -> None:
    """As one of another version; what to do is said, and asking again does not help."""
    async with raw_server(answer(200, said)) as server:
        with pytest.raises(UpstreamFailed, match="template_file") as problem:
            await prompt(kind, server.url, renderer, chat())
    assert (problem.value.status, problem.value.again) == (502, False)


@pytest.mark.parametrize("body", [b"", b"Hello", b"\xff", b'{"a":' * 50_000, b'{"prompt":"half', b'{"prompt":"\xff"}'])
async def test_a_server_that_answers_no_json_is_told_of(body: bytes, renderer: Renderer) -> None:
    """Whatever it answers."""
    async with raw_server(answer(200, body)) as server:
        with pytest.raises(UpstreamFailed, match="did not answer with JSON") as problem:
            await prompt("llama.cpp", server.url, renderer, chat())
    assert problem.value.kind == "unreadable"


@pytest.mark.parametrize("kind", ["llama.cpp", "ollama"])
def test_of_an_answer_with_a_prompt_nothing_else_is_decoded(kind: str) -> None:
    """A server's long answer would take many times its bytes."""
    said = msgspec.json.encode({"prompt": "P", "_debug_info": {"rendered_template": "P"}, "x": [[]] * 100_000})
    tracemalloc.start()
    try:
        assert find_kind(kind).prompt_of(said) == "P"
        assert tracemalloc.get_traced_memory()[1] < len(said)
    finally:
        tracemalloc.stop()


async def test_a_server_that_refuses_to_render_says_why(renderer: Renderer) -> None:
    """As one whose model has no tools does."""
    async with Ollama(lambda _: Script("never"), capabilities=("completion",)) as server:
        with pytest.raises(UpstreamFailed, match="does not support tools") as problem:
            await prompt("ollama", server.url, renderer, chat(tools=[TOOL]))
    assert problem.value.status == 400


async def test_servers_that_take_messages_need_no_prompt(renderer: Renderer) -> None:
    """Nobody is asked for one."""
    plan = plan_of("vllm", chat())
    async with Http() as http:
        assert await prompted(model("vllm"), plan, renderer, http, "http://nowhere.invalid", {}) is plan


async def test_what_the_prompt_ends_with_is_not_begun_again(tmp_path: Path, renderer: Renderer) -> None:
    """Some templates open the turn of the model."""
    (tmp_path / "t.jinja").write_text("{{ messages[0].content }}<tool_call>{{ '\\n' }}")
    body = chat(tools=[TOOL], tool_choice="required")
    plan = await prompt("completions", "", renderer, body, template_file=str(tmp_path / "t.jinja"))
    assert (plan.prompt, plan.begins) == ("hi<tool_call>\n", '{"name": "')


@pytest.mark.parametrize(
    ("text", "begins", "left"),
    [
        ("…<|start|>assistant", "<|start|>assistant<|channel|>x", "<|channel|>x"),
        ("…<|start|>", "<|start|>assistant", "assistant"),
        ("…", "<x>", "<x>"),
        ("…<x>", "<x>", ""),
        ("a < b <", "<x>", "<x>"),
        ("", "<x>", "<x>"),
        ("…<x>", "", ""),
    ],
)
def test_a_beginning_goes_on_where_the_prompt_ends(text: str, begins: str, left: str) -> None:
    """One character alone is an accident."""
    assert without_overlap(text, begins) == left


def test_a_long_beginning_costs_no_more_than_a_turn_s_opening() -> None:
    """That of an answer which another caller began is all of its text; nothing else is done meanwhile."""
    opening, said = "<|start|>assistant", "x" * OVERLAP_CHARS
    assert without_overlap(f"…{opening}", opening + said) == said
    assert without_overlap(f"…{said}", f"{said}y") == "y"
    long, began = said * 500, time.process_time()
    assert without_overlap(f"…{said}", long) == long[OVERLAP_CHARS:]
    assert without_overlap("…", long) == long
    assert without_overlap(f"y{long}", f"{said}{long}") == long
    assert time.process_time() - began < 1


def test_a_message_is_as_templates_read_it() -> None:
    """There is a content, refusals are text, reasoning has the name that templates know; the rest stays."""
    refused = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}], "reasoning": "bad", "name": "a"}
    assert for_template(refused) == refused | {"content": "No.", "reasoning_content": "bad"}
    assert for_template(HISTORY[3])["content"] == ""
    assert for_template(HISTORY[3])["tool_calls"][0]["function"] == {"name": "now", "arguments": {"zone": "CET"}}
    assert for_template(HI) == HI
