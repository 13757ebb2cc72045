"""The models that clients get: what is known of each, and how a request goes to it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.calling import HISTORY, IMAGE, NAMED, OTHER, SHAPE, TOOL, chat, model, plan_of
from tokenmill.apis.ask import BadAsk, Json
from tokenmill.apis.chat import CHAT
from tokenmill.apis.messages import MESSAGES
from tokenmill.caller.served import served, unknown_model
from tokenmill.config import Config, Upstream
from tokenmill.errors import ConfigError
from tokenmill.templates.rendering import Template


def upstream(*models: str, **settings: Any) -> Upstream:
    return msgspec.convert({"models": list(models), "kind": "vllm", "urls": ["http://a"], **settings}, Upstream)


def options(kind: str = "vllm", *, begins: bool = False, settings: Json | None = None, **fields: Any) -> Json:
    return model(kind, **settings or {}).options(CHAT.read(chat(**fields)), begins=begins)


@pytest.mark.parametrize(
    ("each", "name"),
    [
        (upstream("Qwen/Qwen3-8B"), "qwen3_json"),
        (upstream("fast", model="openai/gpt-oss-20b"), "harmony"),
        (upstream("Qwen/Qwen3-8B", format="plain"), "plain"),
        (upstream("nobody-knows-it"), "plain"),
        (upstream("harmony"), "harmony"),
        (upstream("qwen3_xml"), "qwen3_xml"),
        (upstream("hermes", model="Qwen/Qwen3-8B"), "qwen3_json"),
        (upstream("hermes", kind="openai"), "plain"),
        (upstream("Qwen/Qwen3-8B", kind="openai"), "plain"),
        (upstream("openai/gpt-oss-20b", kind="anthropic"), "plain"),
        (upstream("m", kind="openai", format="hermes"), "hermes"),
    ],
)
def test_a_model_writes_in_the_format_that_is_configured_or_its_name_tells(each: Upstream, name: str) -> None:
    """The name at the server tells more; text that a server has parsed is plain."""
    found = served(Config(upstreams=[each]))[each.models[0]]
    assert found.format.name == name


def test_models_of_an_upstream_share_its_places() -> None:
    """But not their formats; those of another one have their own."""
    models = served(Config(upstreams=[upstream("Qwen/Qwen3-8B", "openai/gpt-oss-20b"), upstream("m")]))
    first, second, third = models.values()
    assert list(models) == ["Qwen/Qwen3-8B", "openai/gpt-oss-20b", "m"]
    assert (first.pool is second.pool, first.pool is third.pool) == (True, False)
    assert first.format is not second.format


TEXT: Json = {"type": "custom", "custom": {"name": "patch"}}


def test_a_message_opens_with_what_was_asked_for() -> None:
    """Format, model, tools and the choice among them; counts where they are wanted."""
    assert options(stream_options={"include_usage": True}) == {"format": "hermes", "model": "m"}
    assert options(tools=[TOOL, OTHER], tool_choice=NAMED) == {
        "format": "hermes",
        "model": "m",
        "tools": [TOOL, OTHER],
        "tool_choice": NAMED,
        "include_usage": False,
    }
    assert options(tools=[TOOL, TEXT])["custom_tools"] == ["patch"]
    assert options(tools=[TOOL], tool_choice="required")["tool_choice"] == "required"
    assert "tool_choice" not in options(tools=[TOOL])


def test_the_configuration_s_options_go_first_and_a_beginning_is_text() -> None:
    """A prompt that opens reasoning is not the one of an answer that is begun."""
    settings = {"open": {"start": "reasoning", "tool_choice": "auto"}}
    assert options(settings=settings)["start"] == "reasoning"
    assert options(settings=settings, begins=True)["start"] == "text"
    assert options(settings=settings, tools=[TOOL], tool_choice="required")["tool_choice"] == "auto"


def test_a_message_shows_its_calls_grow_where_a_tool_asks_for_it() -> None:
    """Claude Code takes a call that says nothing for minutes for a broken connection; the configuration goes first."""
    tool = {"name": "Write", "input_schema": {"type": "object"}, "eager_input_streaming": True}
    said = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "tools": [tool]}
    eager = MESSAGES.read(said | {"stream": True})
    assert model("vllm").options(eager, begins=False)["stream_tool_input"] is True
    assert "stream_tool_input" not in model("vllm").options(MESSAGES.read(said), begins=False)
    configured = model("vllm", open={"stream_tool_input": False}).options(eager, begins=False)
    assert configured["stream_tool_input"] is False


@pytest.mark.parametrize(
    ("kind", "alone", "told"),
    [("vllm", False, "drop-all"), ("vllm", True, None), ("vllm", None, None), ("openai", False, None)],
)
def test_one_call_at_a_time_is_the_parser_s_to_keep(kind: str, alone: bool | None, told: str | None) -> None:
    """Of raw text: whatever the configuration says, which may keep text behind a call."""
    settings = {"open": {"text_after_calls": "keep"}} if told else {}
    said = options(kind, settings=settings, tools=[TOOL], parallel_tool_calls=alone)
    assert said.get("text_after_calls") == told


def test_without_tools_nothing_is_dropped_behind_a_call() -> None:
    """A call that is written all the same is an example, and takes no text along."""
    assert "text_after_calls" not in options(parallel_tool_calls=False)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_servers_that_make_calls_are_told_to(kind: str) -> None:
    """Nothing is begun for them, and a format without calls is none of their concern."""
    plan = plan_of(kind, chat(tools=[TOOL], tool_choice="required"))
    assert (plan.begins, plan.format) == ("", "plain")


@pytest.mark.parametrize("kind", ["vllm", "sglang", "llama.cpp", "ollama", "completions"])
@pytest.mark.parametrize(("format_", "short"), [("mistral_args", True), ("mistral_callid", True), ("hermes", False)])
def test_models_whose_templates_want_short_ids_of_calls_get_them(kind: str, format_: str, short: bool) -> None:
    """Whoever renders the prompt; the id of a result is that of its call."""
    call, result = plan_of(kind, chat(*HISTORY, tools=[TOOL]), format=format_).ask.messages[3:]
    (made,) = call["tool_calls"]
    assert made["id"] == result["tool_call_id"]
    assert len(made["id"]) == (9 if short else len("c1"))


def test_a_forced_call_is_begun_and_has_no_other_shape() -> None:
    """The shape is that of a text, which there will not be."""
    forced = plan_of("vllm", chat(tools=[TOOL], tool_choice=NAMED, response_format=SHAPE))
    assert (forced.begins, forced.ask.response_format) == ('<tool_call>\n{"name": "now", "arguments": ', None)
    free = plan_of("vllm", chat(tools=[TOOL], tool_choice="none", response_format=SHAPE))
    assert (free.begins, free.ask.response_format) == ("", SHAPE)
    assert "<tool_call>" in free.markers


@pytest.mark.parametrize(
    ("kind", "api", "fields", "effort"),
    [
        ("vllm", "messages", {"response_format": SHAPE}, None),
        ("vllm", "messages", {}, "low"),
        ("vllm", "chat", {}, "low"),
        ("openai", "messages", {"response_format": SHAPE}, "low"),
    ],
)
def test_an_effort_of_messages_is_none_of_reasoning_where_the_answer_has_a_shape(
    kind: str, api: str, fields: Json, effort: str | None
) -> None:
    """Only where a template would take it for one."""
    body = chat(reasoning_effort="low", **fields)
    assert model(kind).plan(CHAT.read(body), api, body).ask.reasoning_effort == effort


def test_a_model_without_a_format_of_calls_can_t_be_made_to_call() -> None:
    """What would help is said."""
    with pytest.raises(BadAsk, match="use tool_choice auto") as refused:
        plan_of("vllm", chat(tools=[TOOL], tool_choice="required"), format="plain")
    assert (refused.value.param, refused.value.code) == ("tool_choice", "unsupported_value")


def test_a_model_that_nobody_serves_is_not_found() -> None:
    """Those that are there are named, as far as they fit; a long name is cut."""
    known = served(Config(upstreams=[upstream(*(f"m{number:02}" for number in range(12)))]))
    problem = unknown_model("x" * 5_000, known)
    assert (problem.param, problem.code) == ("model", "model_not_found")
    assert len(str(problem)) < 300
    assert "m09" in str(problem)
    assert "m10" not in str(problem)
    assert "no upstreams" in str(unknown_model("m", {}))


def test_a_template_is_read_at_the_start(tmp_path: Path) -> None:
    """One that can't be is named by its setting."""
    (tmp_path / "t.jinja").write_text("{{ messages }}")
    good = upstream("m", kind="completions", template_file=str(tmp_path / "t.jinja"))
    assert served(Config(upstreams=[good]))["m"].template == Template("{{ messages }}")
    bad = upstream("n", kind="completions", template_file=str(tmp_path / "none"))
    with pytest.raises(ConfigError, match=r"upstreams\[1\]\.template_file"):
        served(Config(upstreams=[good, bad]))


@pytest.mark.parametrize("kind", ["vllm", "llama.cpp", "ollama", "completions"])
@pytest.mark.parametrize(
    ("api", "param", "part"),
    [("chat", "messages", IMAGE), ("responses", "input", {"type": "input_image", "image_url": "https://a/b"})],
)
def test_images_have_no_place_in_a_prompt_that_is_rendered_here(
    kind: str, api: str, param: str, part: Json, tmp_path: Path
) -> None:
    """They are refused before anything is written: without them the model would answer another question."""
    (tmp_path / "t.jinja").write_text("{{ messages }}")
    shown = {"role": "user", "content": [part]}
    with pytest.raises(BadAsk, match="images") as refused:
        plan_of(kind, {"model": "m", param: [shown]}, api, template_file=str(tmp_path / "t.jinja"))
    assert (refused.value.param, refused.value.code) == (param, "unsupported_value")


@pytest.mark.parametrize("parameters", [{"x": json.loads("[" * 130 + "]" * 130)}, {"maximum": 10**30}])
def test_tools_that_no_worker_reads_are_refused(parameters: Json) -> None:
    """They are in the record that opens the message: it would be a broken one, and its answer never come."""
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    with pytest.raises(BadAsk) as caught:
        plan_of("vllm", chat(tools=[tool]))
    assert caught.value.param == "tools"


def test_more_custom_tools_than_a_message_can_name_are_refused() -> None:
    """The option that names them has fewer characters than tools may have: the message would not open."""
    tools = [{"type": "custom", "custom": {"name": f"{number:0250}"}} for number in range(60)]
    assert len(plan_of("vllm", chat(tools=tools)).ask.custom_tools) == 60
    with pytest.raises(BadAsk, match="too many custom tools") as caught:
        plan_of("vllm", chat(tools=tools * 2))
    assert caught.value.param == "tools"


def test_so_many_answers_have_the_room_that_their_tools_leave() -> None:
    """Each opens with them: a request of a megabyte would become a hundred on the topic of chunks."""
    tool = {"type": "function", "function": {"name": "f", "description": "x" * 100_000}}
    assert plan_of("vllm", chat(tools=[tool], n=80)).ask.n == 80
    assert plan_of("vllm", chat(tools=[tool] * 90)).ask.n == 1
    with pytest.raises(BadAsk, match="with these tools, ask for at most 83") as caught:
        plan_of("vllm", chat(tools=[tool], n=84))
    assert (caught.value.param, caught.value.code) == ("n", "invalid_value")
