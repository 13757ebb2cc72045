"""Settings come from defaults, a file and the environment, in this order; all problems are reported together."""

from pathlib import Path

import pytest

from tokenmill.config import Config, ExtraOutput, load_config
from tokenmill.errors import ConfigError

KNOWN = (
    "known are kafka, redis, topics, parser, limits, worker, gateway, tools, front, caller, inspect, telemetry, "
    "upstreams, outputs"
)


def load(tmp_path: Path, toml: str, environ: dict[str, str] | None = None) -> Config:
    path = tmp_path / "tokenmill.toml"
    path.write_text(toml)
    return load_config(path, environ or {})


def problems(tmp_path: Path, toml: str, environ: dict[str, str] | None = None) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, toml, environ)
    return raised.value.problems


def test_nothing_given_means_the_defaults() -> None:
    """Without a file and variables every setting has its default."""
    assert load_config(None, {"PATH": "/bin"}) == Config()


def test_the_environment_goes_over_the_file(tmp_path: Path) -> None:
    """A variable wins over the same key of the file; other keys of the section stay."""
    config = load(
        tmp_path, '[kafka]\ngroup_id = "a"\nclient_id = "b"\n[worker]\nport = 1', {"TOKENMILL_KAFKA__GROUP_ID": "c"}
    )
    assert (config.kafka.group_id, config.kafka.client_id, config.worker.port) == ("c", "b", 1)


def test_upstreams_come_from_the_file_or_as_json_from_a_variable(tmp_path: Path) -> None:
    """As for outputs; a missing key is reported, and a secret may be in a file."""
    (tmp_path / "key").write_text("sesame\n")
    toml = f"""[[upstreams]]
models = ["m"]
urls = ["http://a"]
api_key_file = "{tmp_path}/key"
"""
    (upstream,) = load(tmp_path, toml).upstreams
    assert upstream.api_key == "sesame"
    assert "sesame" not in repr(upstream)
    variable = {"TOKENMILL_UPSTREAMS": '[{"models": ["n"], "urls": ["http://b"], "kind": "vllm"}]'}
    assert [each.models for each in load(tmp_path, toml, variable).upstreams] == [["n"]]
    assert problems(tmp_path, "[[upstreams]]\nmodels = ['m']")[0] == "upstreams[0].urls: is missing"
    assert problems(tmp_path, "upstreams = 3")[0] == "upstreams: must be a list of tables with `models` and `urls`"


def test_a_variable_names_the_file(tmp_path: Path) -> None:
    """TOKENMILL_CONFIG is used where no path is given."""
    path = tmp_path / "settings.toml"
    path.write_text('[topics]\ntokens = "raw"')
    assert load_config(None, {"TOKENMILL_CONFIG": str(path)}).topics.tokens == "raw"


@pytest.mark.parametrize(
    ("variable", "text", "section", "key", "value"),
    [
        ("TOKENMILL_WORKER__PORT", "9090", "worker", "port", 9090),
        ("TOKENMILL_REDIS__TIMEOUT_S", "0.5", "redis", "timeout_s", 0.5),
        ("TOKENMILL_KAFKA__GROUP_INSTANCE_ID", "pod-1", "kafka", "group_instance_id", "pod-1"),
        ("TOKENMILL_KAFKA__GROUP_ID", "[x", "kafka", "group_id", "[x"),
        ("TOKENMILL_PARSER__START_TAG", "[TOOL]", "parser", "start_tag", "[TOOL]"),
        ("TOKENMILL_KAFKA__GROUP_INSTANCE_ID", "{x", "kafka", "group_instance_id", "{x"),
        ("TOKENMILL_PARSER__FORMAT", "hermes", "parser", "format", "hermes"),
        ("TOKENMILL_PARSER__FORMAT", '["hermes", "plain"]', "parser", "format", ["hermes", "plain"]),
        ("TOKENMILL_PARSER__STREAM_TOOL_INPUT", "false", "parser", "stream_tool_input", False),
        ("TOKENMILL_PARSER__CONTENT_ARGUMENTS", '["write.content"]', "parser", "content_arguments", ["write.content"]),
        ("TOKENMILL_LIMITS__CALLS", "7", "limits", "calls", 7),
    ],
)
def test_text_of_a_variable_becomes_the_type_of_its_key(
    variable: str, text: str, section: str, key: str, value: object
) -> None:
    """Numbers, booleans, lists and names are read from text."""
    config = load_config(None, {variable: text})
    assert getattr(getattr(config, section), key) == value


def test_outputs_come_from_the_file_or_as_json_from_a_variable(tmp_path: Path) -> None:
    """More outputs are a list of tables; the variable replaces the list."""
    toml = '[[outputs]]\ntopic = "a"\n[[outputs]]\ntopic = "b"\nevents = ["finish"]'
    assert load(tmp_path, toml).outputs == [ExtraOutput(topic="a"), ExtraOutput(topic="b", events=["finish"])]
    assert load(tmp_path, toml, {"TOKENMILL_OUTPUTS": '[{"topic": "c"}]'}).outputs == [ExtraOutput(topic="c")]


def test_variables_that_are_no_settings_are_left_alone() -> None:
    """Kubernetes sets TOKENMILL_PORT and the like for a service called tokenmill."""
    environ = {"TOKENMILL_PORT": "tcp://10.0.0.1:8080", "TOKENMILL_SERVICE_HOST": "10.0.0.1", "OTHER__KEY": "1"}
    assert load_config(None, environ) == Config()


def test_everything_wrong_is_said_at_once_by_name(tmp_path: Path) -> None:
    """Unknown sections and keys, wrong types and values, wherever they come from, in one error."""
    toml = """
        surprise = 1
        worker = "fast"
        [kafka]
        grup_id = "x"
        session_timeout_ms = "long"
        [limitz]
        [parser]
        on_broken = "explode"
        [[outputs]]
        dialect = "native"
        [[outputs]]
        topic = "no spaces"
    """
    assert problems(tmp_path, toml, {"TOKENMILL_REDIS__TTL_S": "day", "TOKENMILL_NOPE__KEY": "1"}) == (
        f"surprise: unknown section; {KNOWN}",
        "limitz: unknown section; did you mean limits?",
        f"nope: unknown section; {KNOWN}",
        "kafka.grup_id: unknown key; did you mean group_id?",
        "kafka.session_timeout_ms: Expected `int`, got `str`",
        "redis.ttl_s: Expected `int`, got `str` (from TOKENMILL_REDIS__TTL_S)",
        "parser.on_broken: Invalid enum value 'explode'; known are text, drop",
        "worker: must be a table",
        "outputs[0].topic: is missing",
        "outputs[1].topic: 'no spaces' is not a topic name: 1 to 249 letters, digits, '.', '_' and '-'",
    )


@pytest.mark.parametrize(
    ("key", "toml"),
    [
        ("worker.port", "[worker]\nport = 70000"),
        ("worker.idle_timeout_s", "[worker]\nidle_timeout_s = 0"),
        ("topics.tokens", '[topics]\ntokens = ""'),
        ("topics.dlq", '[topics]\ndlq = ".."'),
        ("outputs", "outputs = 1"),
        ("outputs", "[outputs]\ntopic = 'a'"),
    ],
)
def test_values_out_of_range_are_refused(tmp_path: Path, key: str, toml: str) -> None:
    """A number outside its range, an impossible topic name, a list that is none."""
    assert [problem.split(":")[0] for problem in problems(tmp_path, toml)] == [key]


def test_a_refused_key_is_not_blamed_again_by_a_relation(tmp_path: Path) -> None:
    """What could not be read has its default, which must not make up a contradiction."""
    toml = "[kafka]\nrequest_timeout_ms = 'x'\nrebalance_timeout_ms = 200000"
    assert problems(tmp_path, toml) == ("kafka.request_timeout_ms: Expected `int`, got `str`",)


def test_json_of_a_variable_that_is_broken_is_said() -> None:
    """A list that is cut off names its variable."""
    with pytest.raises(ConfigError, match=r"parser\.content_arguments: .*TOKENMILL_PARSER__CONTENT_ARGUMENTS"):
        load_config(None, {"TOKENMILL_PARSER__CONTENT_ARGUMENTS": '["a"'})


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    """Missing, not TOML, not UTF-8: the file's name and why."""
    missing, broken, binary = tmp_path / "missing", tmp_path / "broken", tmp_path / "binary"
    broken.write_text("kafka = ")
    binary.write_bytes(b"\xff")
    for path, why in ((missing, "No such file"), (broken, "not TOML"), (binary, "not UTF-8")):
        with pytest.raises(ConfigError, match=f"{path.name}: .*{why}"):
            load_config(path, {})


def test_a_mark_of_the_byte_order_is_no_part_of_a_file(tmp_path: Path) -> None:
    """Editors put one at the beginning, of the file and of one with a secret, where nobody sees it."""
    (tmp_path / "password").write_text("s3cret", encoding="utf-8-sig")
    path = tmp_path / "tokenmill.toml"
    path.write_text(f'[kafka]\n{SASL}sasl_password_file = "{tmp_path}/password"\n', encoding="utf-8-sig")
    assert load_config(path, {}).kafka.sasl_password == "s3cret"


@pytest.mark.parametrize("value", ["[" * 5_000 + "]" * 5_000, "9" * 5_000], ids=["deep", "long"])
def test_a_file_that_python_can_not_read_is_said(tmp_path: Path, value: str) -> None:
    """It is TOML: nested deeper than the stack bears, or a number of thousands of digits."""
    (problem,) = problems(tmp_path, f"[parser]\ntools = {value}")
    assert "tokenmill.toml: can't be read: " in problem


@pytest.mark.parametrize(
    ("variable", "key"), [("TOKENMILL_PARSER__TOOLS", "parser.tools"), ("TOKENMILL_OUTPUTS", "outputs")]
)
def test_json_of_a_variable_that_is_nested_too_deep_is_said(tmp_path: Path, variable: str, key: str) -> None:
    """Of a file's keys the same, which may be as deep."""
    (problem,) = problems(tmp_path, "", {variable: "[" * 5_000 + "]" * 5_000})
    assert problem.startswith(f"{key}: ")
    (problem,) = problems(tmp_path, f"[[parser.tools]]\n{'.'.join(['a'] * 5_000)} = 1\n")
    assert problem.startswith("parser.tools: Expected values that are not nested so deep")


@pytest.mark.parametrize("toml", ["", '[[outputs]]\ntopic = "o"\n'], ids=["none", "some"])
def test_a_variable_for_one_of_several_tables_is_refused(tmp_path: Path, toml: str) -> None:
    """It does not name the table that it is for, so it would have no effect, whatever the file has."""
    (problem,) = problems(tmp_path, toml, {"TOKENMILL_OUTPUTS__TOPIC": "x"})
    assert problem.startswith("TOKENMILL_OUTPUTS__TOPIC: ")
    assert problem.endswith(": set all in TOKENMILL_OUTPUTS, as JSON")


@pytest.mark.parametrize("variable", ["TOKENMILL_KAFKA__SASL_PASSWORD", "TOKENMILL_REDIS__URL"])
def test_secrets_are_in_no_message(variable: str) -> None:
    """Neither an error nor a repr shows a secret."""
    with pytest.raises(ConfigError) as raised:
        load_config(None, {variable: "hunter2", "TOKENMILL_KAFKA__SASL_USERNAME": "u", "TOKENMILL_WORKER__PORT": "x"})
    assert "hunter2" not in str(raised.value)


SASL = 'security_protocol = "SASL_SSL"\nsasl_username = "u"\n'


def test_a_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    """As orchestrators mount them; a line's end is not part of it. The path may come from the environment."""
    (tmp_path / "password").write_text("s3cret \n")
    (tmp_path / "url").write_text("redis://:s3cret@r/0")
    toml = f'[kafka]\n{SASL}sasl_password_file = "{tmp_path}/password"\n'
    config = load(tmp_path, toml, {"TOKENMILL_REDIS__URL_FILE": f"{tmp_path}/url"})
    assert (config.kafka.sasl_password, config.redis.url) == ("s3cret ", "redis://:s3cret@r/0")
    assert "s3cret" not in repr(config)


def test_a_secret_is_given_once(tmp_path: Path) -> None:
    """The file, or the value."""
    (tmp_path / "password").write_text("s3cret")
    toml = f'[kafka]\n{SASL}sasl_password = "other"\nsasl_password_file = "{tmp_path}/password"\n'
    assert problems(tmp_path, toml) == (
        "kafka.sasl_password: is set, and so is kafka.sasl_password_file; set only one",
    )


def test_a_file_that_holds_no_secret_is_named(tmp_path: Path) -> None:
    """Missing, empty or not UTF-8; what is in it is not said."""
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "odd").write_bytes(b"s3cret\xff")
    said = [
        problems(tmp_path, f'[kafka]\n{SASL}sasl_password_file = "{tmp_path}/{name}"\n')
        for name in ("missing", "empty", "odd")
    ]
    assert said == [
        (f"kafka.sasl_password_file: {tmp_path}/missing can't be read: No such file or directory",),
        (f"kafka.sasl_password_file: {tmp_path}/empty is empty",),
        (f"kafka.sasl_password_file: {tmp_path}/odd is not UTF-8",),
    ]


@pytest.mark.parametrize(
    "toml",
    [
        "[kafka]\nsasl_password = 's3cret'\nssl_password = 's3cret'\n",
        "[kafka]\nsasl_password = ['s3cret']\n",
        "[kafka]\nsasl_password = 's3cret\n",
        "[redis]\nurl = 'http://:s3cret@r/0'\n",
        "[redis]\nurl = {password = 's3cret'}\n",
    ],
)
def test_no_problem_quotes_a_secret(tmp_path: Path, toml: str) -> None:
    """Problems are printed, and logs are read by many."""
    assert "s3cret" not in "".join(problems(tmp_path, toml))


@pytest.mark.parametrize(
    ("toml", "environ", "problem"),
    [
        (
            "[parser]\nmin_delta_chars = 99999999999999999999",
            {},
            "parser.min_delta_chars: Expected numbers of at most 64",
        ),
        ("[parser]\ntools = [{a = 99999999999999999999}]", {}, "parser.tools: Expected numbers of at most 64 bits"),
        ("[worker]\nstall_timeout_s = inf", {}, "worker.stall_timeout_s: Expected a number that is finite"),
        ("[redis]\ntimeout_s = nan", {}, "redis.timeout_s: Expected"),
        (
            "",
            {"TOKENMILL_PARSER__MODEL": "a\udcff"},
            "parser.model: Expected text that is UTF-8 (from TOKENMILL_PARSER__",
        ),
        ("", {"TOKENMILL_WORKER__PORT": "\udcff"}, "worker.port: Expected text that is UTF-8"),
        ('[redis]\nurl_file = "a\\u0000"', {}, "redis.url_file: 'a\\x00' is not a file name"),
    ],
)
def test_values_that_cannot_be_kept_are_refused_by_name(
    tmp_path: Path, toml: str, environ: dict[str, str], problem: str
) -> None:
    """Numbers beyond 64 bits, infinite times, bytes that are not UTF-8, impossible file names."""
    (told,) = problems(tmp_path, toml, environ)
    assert told.startswith(problem)
