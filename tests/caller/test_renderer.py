"""Prompts by a model's own chat template."""

from pathlib import Path

import pytest

from tokenmill.caller.renderer import Renderer, template_of
from tokenmill.errors import ConfigError
from tokenmill.templates.rendering import CannotRender

TEMPLATE = (
    "{% for tool in tools or [] %}[{{ tool.function.name }}]{% endfor %}"
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% if enable_thinking %}<think>{% endif %}{% endif %}"
)
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
        year = await renderer.render("{{ strftime_now('%Y') }}", MESSAGES, [], {})
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
        (r"{{ '\ud83d' }}", "no text"),
    ],
)
async def test_a_template_that_does_not_render_says_why_and_the_next_one_does(template: str, why: str) -> None:
    """Whatever became of its process."""
    renderer = Renderer(render_s=2)
    try:
        with pytest.raises(CannotRender, match=why):
            await renderer.render(template, MESSAGES, [], {})
        assert await renderer.render(TEMPLATE, MESSAGES, [], {}) == "<user>Zürich 🙂?<assistant>"
    finally:
        await renderer.close()


def test_a_file_without_a_template_is_named_by_its_setting(tmp_path: Path) -> None:
    """What to change is said."""
    (tmp_path / "t.jinja").write_text(TEMPLATE)
    assert template_of("upstreams[0]", str(tmp_path / "t.jinja")) == TEMPLATE
    with pytest.raises(ConfigError, match=r"^upstreams\[0\].template_file: .*none"):
        template_of("upstreams[0]", str(tmp_path / "none"))
