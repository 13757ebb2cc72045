"""Templates of files, rendered within limits."""

import json
from pathlib import Path

import pytest

from tokenmill.templates import rendering
from tokenmill.templates.rendering import CannotRender, Template, prompt, read_template, render


def test_each_conversation_has_its_own_answer() -> None:
    """In their order; one that can't be rendered does not touch the others."""
    found = render("{{ a + 1 }}", [{"a": 1}, {"a": "x"}, {"a": 3}])
    assert [one.text for one in found] == ["2", None, "4"]
    assert found[1].problem


def test_a_prompt_has_the_tools_and_the_messages() -> None:
    """As the model reads them, ready for its answer."""
    template = "{{ bos_token }}{{ tools[0].name }}: {{ messages[0].content }}{% if add_generation_prompt %}>{% endif %}"
    assert prompt(Template(template), [{"role": "user", "content": "hi"}], [{"name": "now"}]) == "now: hi>"
    with pytest.raises(CannotRender, match="does not render: no such thing"):
        prompt(Template("{{ raise_exception('no such thing') }}"), [], [])


MISTRAL = (
    "{{ bos_token }}{% for message in messages %}{% if message.role == 'user' %}[INST] {{ message.content }}[/INST]"
    "{% else %} {{ message.content }}{{ eos_token }}{% endif %}{% endfor %}"
)
TURNS = [
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": "b"},
    {"role": "user", "content": "c"},
]


def test_the_tokens_of_a_tokenizer_end_turns(tmp_path: Path) -> None:
    """They stand beside the template. The one that begins a prompt is left out: servers put it there."""
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({"chat_template": MISTRAL, "eos_token": "</s>", "bos_token": {"content": "<s>"}}))
    assert prompt(read_template(path), TURNS, []) == "[INST] a[/INST] b</s>[INST] c[/INST]"
    again = Template("{{ bos_token }}a{{ bos_token }}b", {"bos_token": "<s>"})
    assert prompt(again, [], []) == "a<s>b"


def test_a_mark_of_byte_order_is_no_part_of_a_template(tmp_path: Path) -> None:
    """It would stand before the token that begins a prompt."""
    path = tmp_path / "chat_template.jinja"
    path.write_text(MISTRAL, encoding="utf-8-sig")
    assert read_template(path).text == MISTRAL


def test_tokens_are_strings_or_have_a_content(tmp_path: Path) -> None:
    """Whatever else a configuration says by such a name is none."""
    tokens = {"eos_token": {"content": "</s>", "lstrip": False}, "image_token": "<img>", "pad_token": None}
    other = {"add_bos_token": True, "unk_token": {"text": "?"}, "tokens": "x"}
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({"chat_template": "T", **tokens, **other}))
    assert read_template(path).tokens == {"eos_token": "</s>", "image_token": "<img>"}


@pytest.mark.parametrize(
    ("template", "lacks"),
    [
        (Template(MISTRAL), True),
        (Template(MISTRAL, {"bos_token": "<s>"}), True),
        (Template(MISTRAL, {"eos_token": "</s>"}), False),
        (Template(MISTRAL, {"eos_token": ""}), False),
        (Template("{{ bos_token }}{{ my_eos_token_id }}"), False),
    ],
)
def test_a_template_that_ends_turns_by_a_token_has_to_know_it(template: Template, *, lacks: bool) -> None:
    """An empty one is known, too."""
    assert template.lacks_eos is lacks


def test_a_template_without_an_end_is_ended() -> None:
    """It may use a processor for so long, whether it writes anything or not."""
    template = "{% for i in range(9999) %}{% for j in range(9999) %}{% set x = j %}{% endfor %}{% endfor %}"
    with pytest.raises(CannotRender, match=r"did not end within \d seconds"):
        render(template, [{}, {}], within_s=1)


def test_a_template_may_not_fill_the_memory() -> None:
    """Nor write without an end."""
    (found,) = render("{{ word * 10 ** 11 }}", [{"word": "a"}])
    assert found.problem == "MemoryError"


def test_a_missing_extra_is_said_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jinja2 is no dependency of the worker."""
    monkeypatch.setattr(rendering, "find_spec", lambda name: None)  # noqa: ARG005 -- the name of Jinja2
    with pytest.raises(CannotRender, match=r"pip install 'tokenmill\[templates\]'"):
        render("a", [{}])


@pytest.mark.parametrize(
    "config",
    [
        {"chat_template": "T"},
        {"chat_template": [{"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}]},
        {"chat_template": [{"name": "default", "template": "T"}]},
    ],
)
def test_a_template_may_stand_in_a_configuration(config: object, tmp_path: Path) -> None:
    """Of several that for tools counts."""
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps(config))
    assert read_template(path) == Template("T")


@pytest.mark.parametrize("text", ["{}", "[]", "{", '{"chat_template": [{"name": "rag", "template": "R"}]}'])
def test_a_configuration_without_one_is_refused(text: str, tmp_path: Path) -> None:
    """With the file's name."""
    path = tmp_path / "tokenizer_config.json"
    path.write_text(text)
    with pytest.raises(CannotRender, match=r"tokenizer_config\.json"):
        read_template(path)


def test_any_other_file_is_the_template(tmp_path: Path) -> None:
    """As `chat_template.jinja`, to the character."""
    path = tmp_path / "chat_template.jinja"
    path.write_text("a{{ b }}\n")
    assert read_template(path) == Template("a{{ b }}\n")
