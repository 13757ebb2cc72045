"""`tokenmill parse`."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests.support.terminals import OnTerminal
from tokenmill.commands.parse import command
from tokenmill.errors import BadOpen, FatalError, UnknownCodec

TEXT = 'Hi 😀 <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'

NO_JSON = {
    "broken": "{",
    "deep": '{"a":' * 5_000 + "1" + "}" * 5_000,
    "deep, with half a character": '{"a":"\\ud83d","b":' + '{"c":' * 500 + "1" + "}" * 501,
}
"""Lines by what is wrong with them."""


def run(*arguments: str, text: str | bytes = "") -> Result:
    return CliRunner().invoke(command, list(arguments), input=text, catch_exceptions=False)


def lines(result: Result) -> list[Any]:
    return [msgspec.json.decode(line) for line in result.stdout.splitlines()]


def visible(events: list[Any]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "text-delta")


@pytest.mark.parametrize("chunk", [(), ("--chunk", "1"), ("--chunk", "7")])
def test_text_becomes_events(chunk: tuple[str, ...]) -> None:
    """However it is cut; one JSON line for each event where a program reads."""
    events = lines(run("--format", "hermes", *chunk, text=TEXT))
    assert visible(events) == "Hi 😀 "
    assert [event["arguments"] for event in events if event["type"] == "tool-call"] == [{"a": 1}]
    assert [event["seq"] for event in events] == list(range(len(events)))


@pytest.mark.integration
def test_json_acts_on_no_terminal(tmp_path: Path) -> None:
    """In JSON a model's text may hold what some terminals obey, or what turns a line around."""
    (tmp_path / "said").write_text("Hi \x9b31m\u202e.")
    with OnTerminal("parse", "--format", "plain", "--dialect", "openai", str(tmp_path / "said")) as screen:
        screen.until("<U+009B>31m<U+202E>")
        assert screen.end() == 0
    assert b"\xc2\x9b" not in screen.drawn


def test_a_person_sees_the_events_readably() -> None:
    """Growing as they come, in colour if the terminal has any."""
    arguments = ["--format", "hermes", "--chunk", "3"]
    page = CliRunner(env={"FORCE_COLOR": "1", "TERM": "dumb"}).invoke(command, arguments, input=TEXT).stdout
    assert 'call       f {"a":1}' in page
    assert "tool-call" not in page.replace("tool-calls", "")


def test_a_file_is_read_like_stdin(tmp_path: Path) -> None:
    """The output is reproducible: ids and times are fixed."""
    path = tmp_path / "answer.txt"
    path.write_text(TEXT)
    assert run("--format", "hermes", str(path)).stdout == run("--format", "hermes", text=TEXT).stdout


def test_the_finish_reason_can_be_given() -> None:
    """As the provider would say it."""
    assert lines(run("--finish", "length", text="Hi"))[-1]["reason"] == "length"


def test_options_change_what_is_parsed() -> None:
    """Every option of a message can be set, from a list of tools to one word."""
    assert visible(lines(run("--format", "hermes", "--open", "parse=none", text=TEXT))) == TEXT
    with pytest.raises(BadOpen, match="unknown format 'nonsense'"):
        run("--format", "nonsense", text="x")


def test_a_captured_stream_goes_through_its_codec() -> None:
    """Each line is a record."""
    captured = '{"conversation_id": "x", "delta": "a"}\n\n{"delta": "b"}\n{"finish_reason": "length"}\n'
    events = lines(run("--codec", "native", text=captured))
    assert visible(events) == "ab"
    assert events[-1]["reason"] == "length"
    assert visible(lines(run("--codec", "text", text=b"a\xff\nb"))) == "a\ufffd\nb"


def test_records_that_can_not_be_used_fail_the_command_at_its_end() -> None:
    """All events come out; then what was wrong is said."""
    with pytest.raises(FatalError, match=r"not records of the codec native:\n  record 2: .*not a native chunk"):
        run("--codec", "native", text='{"delta": "a"}\n{"delta": 1}\n{"delta": "b"}\n')
    result = CliRunner().invoke(command, ["--codec", "native"], input='{"delta": "a"}\n{"delta": 1}\n{"delta": "b"}\n')
    assert visible(lines(result)) == "ab"


def test_an_unknown_codec_is_refused_with_the_known_ones() -> None:
    """Before anything is read."""
    with pytest.raises(UnknownCodec, match="known are native, text"):
        run("--codec", "nonsense", text="x")


def test_a_batch_answers_line_by_line() -> None:
    """`per_chunk` adds a list for each chunk and one for the end; what is unknown is said in the answer."""
    cases = [
        {"name": "one", "format": "hermes", "chunks": ["H", "i"], "per_chunk": True},
        {"name": "two", "format": "nonsense", "chunks": []},
        {"name": "three", "function": "nonsense", "input": []},
    ]
    one, two, three = lines(run("--batch", text=b"\n".join(map(msgspec.json.encode, cases))))
    assert (one["name"], visible(one["events"]), len(one["events_per_chunk"])) == ("one", "Hi", 3)
    assert "nonsense" in two["error"]
    assert "nonsense" in three["error"]


def test_whole_records_give_the_records_that_a_worker_would_write(tmp_path: Path) -> None:
    """With its configuration: topics, codec, options."""
    config = tmp_path / "t.toml"
    config.write_text('[parser]\nformat = "hermes"\n[topics]\nevents = "my-events"\n')
    record = {"topic": "tokens", "partition": 3, "offset": 7, "timestamp": 5, "key": "c1", "headers": []}
    stream = [
        record | {"value": '{"delta": "Hi"}'},
        record | {"offset": 8, "value": '{"end": true}', "headers": [["h", "1"]]},
    ]
    outputs = lines(run("--records", "--config", str(config), text=b"\n".join(map(msgspec.json.encode, stream))))
    assert {(output["topic"], output["partition"], output["key"]) for output in outputs} == {("my-events", 3, "c1")}
    types = [msgspec.json.decode(output["value"])["type"] for output in outputs]
    assert types == ["message-start", "text-start", "text-delta", "text-end", "finish"]
    assert dict(outputs[0]["headers"])["tm-message-id"] == "o3-7"


@pytest.mark.parametrize("arguments", [("--records",), ("--batch",), ("--codec", "native")])
@pytest.mark.parametrize("line", NO_JSON.values(), ids=NO_JSON.keys())
def test_a_line_that_is_no_json_is_wrong_usage(arguments: tuple[str, ...], line: str) -> None:
    """The message says which one; so it is with one that is nested deeper than the stack bears."""
    result = run(*arguments, text=f"{{}}\n{line}\n" if arguments != ("--records",) else f"{line}\n")
    assert result.exit_code == 2
    assert "is not a JSON object" in result.stderr


def test_a_record_with_fields_missing_is_wrong_usage() -> None:
    """The message says which line and field."""
    result = run("--records", text='{"topic": "tokens"}\n')
    assert result.exit_code == 2
    assert "line 1 is not a record: Object missing required field `partition`" in result.stderr


def test_only_one_way_to_print_at_a_time() -> None:
    """They contradict each other."""
    assert run("--batch", "--records").exit_code == 2


@pytest.mark.parametrize(
    ("mode", "unused"),
    [
        (["--batch"], ["--format", "hermes"]),
        (["--records"], ["--open", "model=m"]),
        (["--explain"], ["--dialect", "openai"]),
        (["--codec", "openai"], ["--finish", "stop"]),
    ],
)
def test_an_option_that_changes_nothing_is_refused(mode: list[str], unused: list[str]) -> None:
    """Whoever gives it expects something else."""
    result = run(*mode, *unused, text="{}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{unused[0]} has no effect with {mode[0]}" in result.stderr


def test_a_call_is_explained() -> None:
    """Its source, then what was made of it."""
    page = run("--format", "hermes", "--explain", text=TEXT).stdout
    assert page.splitlines()[:4] == ["#1 source", TEXT[5:-12], "#1 made", "call f"]


@pytest.mark.parametrize(("formats", "said"), [("hermes,qwen3_xml", "qwen3_xml alone reads more"), ("qwen3_xml", "")])
def test_a_call_that_a_later_format_would_have_read_is_said(formats: str, said: str) -> None:
    """Formats in a list that begin a call alike are read in their order."""
    result = run("--format", formats, text="<tool_call>\n<function=f>\n</function>\n</tool_call>")
    assert said in result.stderr
    assert bool(result.stderr) == bool(said)
