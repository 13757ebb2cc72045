"""Prompts by a model's own chat template."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tokenmill.caller.renderer import NoTurn, Renderer, template_of
from tokenmill.errors import ConfigError
from tokenmill.templates.rendering import CannotRender, Template

TEXT = (
    "{% for tool in tools or [] %}[{{ tool.function.name }}]{% endfor %}"
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% if enable_thinking %}<think>{% endif %}{% endif %}"
)
TEMPLATE = Template(TEXT)
TOOLS = [{"type": "function", "function": {"name": "now"}}]
MESSAGES = [{"role": "user", "content": "Zürich 🙂?"}]
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


async def test_a_prompt_has_messages_tools_and_what_the_request_says_besides() -> None:
    """And begins the answer."""
    renderer = Renderer()
    try:
        assert await renderer.render(TEMPLATE, MESSAGES, TOOLS, {"enable_thinking": True}) == (
            "[now]<user>Zürich 🙂?<assistant><think>"
        )
        assert await renderer.render(TEMPLATE, MESSAGES, [], {}) == "<user>Zürich 🙂?<assistant>"
    finally:
        await renderer.close()


async def test_a_template_knows_the_date() -> None:
    """Models are told what day it is."""
    renderer = Renderer()
    try:
        year = await renderer.render(Template("{{ strftime_now('%Y') }}"), MESSAGES, [], {})
        assert int(year) >= 2026
    finally:
        await renderer.close()


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{{ raise_exception('no tools here') }}", "no tools here"),
        ("{% if %}", "no template"),
        (ENDLESS, "did not end within"),
        ("{{ 'a' * 2000000000 }}", "does not render"),
        ("{{ messages.__class__.__mro__ }}", "does not render"),
        (r"{{ '\ud83d' }}", "not valid Unicode"),
    ],
)
async def test_a_template_that_does_not_render_says_why_and_the_next_one_does(template: str, why: str) -> None:
    """Whatever became of its process."""
    renderer = Renderer(render_s=2)
    try:
        with pytest.raises(CannotRender, match=why):
            await renderer.render(Template(template), MESSAGES, [], {})
        assert await renderer.render(TEMPLATE, MESSAGES, [], {}) == "<user>Zürich 🙂?<assistant>"
    finally:
        await renderer.close()


async def test_the_start_of_a_process_takes_nothing_of_a_template_s_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes seconds where all processors are busy, and has a deadline of its own."""
    slow = tmp_path / "python"
    slow.write_text(f'#!/bin/sh\nsleep 2.5\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(slow))
    renderer = Renderer(render_s=2)
    try:
        assert (await renderer.render(TEMPLATE, MESSAGES, [], {})).endswith("<assistant>")
        monkeypatch.setattr("tokenmill.caller.renderer.START_S", 0.1)
        with pytest.raises(CannotRender, match=r"^the process of the chat template did not start within 0.1 s$"):
            await renderer.render(Template("another"), MESSAGES, [], {})
    finally:
        await renderer.close()


async def test_a_process_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next prompt tries again."""
    renderer = Renderer()
    try:
        with monkeypatch.context() as patch:
            patch.setattr("sys.executable", "/bin/false")
            with pytest.raises(CannotRender, match="ended at its start"):
                await renderer.render(TEMPLATE, MESSAGES, [], {})
        assert (await renderer.render(TEMPLATE, MESSAGES, [], {})).endswith("<assistant>")
    finally:
        await renderer.close()


@asynccontextmanager
async def busy_with(renderer: Renderer, template: str) -> AsyncIterator["asyncio.Task[str]"]:
    """A renderer that is at work on this template inside the block."""
    task = asyncio.create_task(renderer.render(Template(template), MESSAGES, [], {}))
    await asyncio.sleep(0)  # it has its turn
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, CannotRender):
            await task
        await renderer.close()


async def test_a_slow_template_does_not_delay_another_model_s() -> None:
    """Each template has its own process: one client's long history holds up no model but the one that it asks."""
    renderer = Renderer(render_s=30)
    async with busy_with(renderer, ENDLESS) as slow:
        assert await renderer.render(TEMPLATE, MESSAGES, [], {}) == "<user>Zürich 🙂?<assistant>"
        assert not slow.done()


async def test_a_turn_is_waited_for_so_long_and_no_longer() -> None:
    """The prompt that is rendered meanwhile is not disturbed."""
    renderer = Renderer(render_s=30)
    async with busy_with(renderer, ENDLESS) as slow:
        with pytest.raises(NoTurn):
            await renderer.render(Template(ENDLESS), MESSAGES, [], {}, 0.01)
        assert not slow.done()


def test_a_file_without_a_template_is_named_by_its_setting(tmp_path: Path) -> None:
    """What to change is said."""
    (tmp_path / "t.jinja").write_text(TEXT)
    assert template_of("upstreams[0]", str(tmp_path / "t.jinja"), {}) == TEMPLATE
    with pytest.raises(ConfigError, match=r"^upstreams\[0\].template_file: .*none"):
        template_of("upstreams[0]", str(tmp_path / "none"), {})


TURNS = "{{ bos_token }}{% for message in messages %}{{ message.content }}{{ eos_token }}{% endfor %}"


def test_a_template_that_ends_turns_by_a_token_nobody_names_is_refused(tmp_path: Path) -> None:
    """Several turns would run into one, and nobody would notice; what is configured goes before the file's own."""
    (tmp_path / "t.jinja").write_text(TURNS)
    with pytest.raises(ConfigError, match=r"^upstreams\[0\].template_tokens: .*eos_token"):
        template_of("upstreams[0]", str(tmp_path / "t.jinja"), {})
    (tmp_path / "t.json").write_text(json.dumps({"chat_template": TURNS, "eos_token": "<e>", "bos_token": "<s>"}))
    found = template_of("upstreams[0]", str(tmp_path / "t.json"), {"eos_token": "</s>"})
    assert found == Template(TURNS, {"eos_token": "</s>", "bos_token": "<s>"})


async def test_turns_end_with_the_token_and_the_prompt_begins_without() -> None:
    """Servers put the first one before what they complete."""
    renderer = Renderer()
    try:
        template = Template(TURNS, {"eos_token": "</s>", "bos_token": "<s>"})
        assert await renderer.render(template, [{"content": "a"}, {"content": "b"}], [], {}) == "a</s>b</s>"
    finally:
        await renderer.close()
