"""Components of other packages: found by name, checked at start, and as good as those of this one."""

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.parsing import all_cuts, merged, parse
from tests.support.plugin.recipe import RECIPE
from tokenmill.dialects import Dialect
from tokenmill.events import ToolCall
from tokenmill.formats import FORMATS
from tokenmill.limits import Limits
from tokenmill.parser import Grammar, MessageParser, Options
from tokenmill.plugins import KINDS, Kind, load_plugins
from tokenmill.plugins import _load as load
from tokenmill.registry import Registry

CHECKOUT = Path(__file__).parents[1]
PLUGIN = """\
[tokenmill.formats]
Recipe = tests.support.plugin.recipe:RECIPE
[tokenmill.dialects]
shout = tests.support.plugin.shout:SHOUT
[tokenmill.codecs]
rot13 = tests.support.plugin.rot13:ROT13
"""


def install(folder: Path, entries: str) -> None:
    """The metadata that an installer writes for a package."""
    metadata = folder / "kitchen-1.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: kitchen\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text(entries)


def tokenmill(folder: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """The command where that package is installed."""
    path = os.pathsep.join([str(folder), str(CHECKOUT / "service"), str(CHECKOUT)])
    return subprocess.run(
        [sys.executable, "-m", "tokenmill", *arguments],
        input=text,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_they_are_found_by_name(tmp_path: Path) -> None:
    """In any case of their letters, and by their aliases, too."""
    install(tmp_path, PLUGIN)
    lines = [
        {"name": "a", "format": "RECIPE", "codec": "Rot13", "chunks": ["Uryyb @qb", " fgve\nobjy: ynetr\n@qbar"]},
        {"name": "b", "format": "cookbook", "dialect": "SHOUT", "chunks": ["hel", "lo"]},
    ]
    run = tokenmill(tmp_path, "parse", "--batch", text="\n".join(json.dumps(line) for line in lines))
    first, second = (json.loads(line)["events"] for line in run.stdout.splitlines())
    assert first[0]["format"] == "Recipe"
    assert [event["arguments"] for event in first if event["type"] == "tool-call"] == [{"bowl": "large"}]
    assert second == [{"line": 1, "text": "HEL"}, {"line": 2, "text": "LO"}]


def test_they_are_listed_with_the_others(tmp_path: Path) -> None:
    """With their samples."""
    install(tmp_path, PLUGIN)
    for kind, name in (("formats", "recipe"), ("dialects", "shout"), ("codecs", "rot13")):
        assert name in tokenmill(tmp_path, kind, name).stdout.lower()


def test_the_library_finds_them(tmp_path: Path) -> None:
    """It looks for formats of other packages when a name is not one of ours."""
    install(tmp_path, PLUGIN)
    program = "from tokenmill import Parser; print(Parser.restore(Parser('recipe').snapshot()).grammar.format_names)"
    path = os.pathsep.join([str(tmp_path), str(CHECKOUT / "service"), str(CHECKOUT)])
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "['Recipe']\n"


@pytest.mark.parametrize(
    "program",
    [
        "from tokenmill.formats import find_format; print(find_format('json_mix').name)",
        "from tokenmill.codecs import find_codec; print(find_codec('sse+ai_sdk_parts').name)",
        "from tokenmill import sse; print(sse(b'{}', 'agent'))",
    ],
)
def test_what_exists_for_one_system_is_there_in_any_program(program: str) -> None:
    """Without a command, which would load it first."""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def test_a_body_of_ones_own() -> None:
    """It gives the same at every cut, with a snapshot at every boundary."""
    grammar = Grammar(Options(format="Recipe"), [RECIPE], Limits())
    text = f"{RECIPE.sample} and @do rest\n@done and @do nothing\nat all\n@done"
    whole = parse(grammar, [text])
    assert [event.arguments for event in whole if isinstance(event, ToolCall)] == [
        {"bowl": "large", "minutes": "3"},
        {},
    ]
    for chunks in all_cuts(text):
        parser, events = MessageParser.of(grammar, "identity"), []
        for chunk in chunks:
            events += parser.feed(chunk)
            parser = MessageParser.of_state(grammar, parser.encode_state())
        assert merged(events + parser.finish()) == merged(whole)


WRONG = """\
[tokenmill.formats]
hermes = tests.support.plugin.recipe:RECIPE
gone = tests.support.plugin.recipe:NOWHERE
shout = tests.support.plugin.shout:SHOUT
missing = nowhere_at_all:X
[tokenmill.dialects]
rot13 = tests.support.plugin.rot13:ROT13
[tokenmill.codecs]
shout = tests.support.plugin.shout:SHOUT
"""


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    """With the package that it is about and what to do; the command ends as for a wrong configuration."""
    install(tmp_path, WRONG)
    run = tokenmill(tmp_path, "parse", text="x")
    assert run.returncode == 2
    problems = [line for line in run.stderr.splitlines() if "kitchen 1.2" in line]
    assert len(problems) == 6
    assert all(line.endswith("; fix the package or remove it") for line in problems)
    for said in (
        "'gone' in tokenmill.formats of the package kitchen 1.2: AttributeError",
        "its component is named 'Recipe'; give both the same name",
        "it is not a tokenmill.parser.Format but a ShoutDialect",
        "ModuleNotFoundError: No module named 'nowhere_at_all'",
        "it is not a tokenmill.dialects.Dialect but a Rot13Codec",
        "it has no sample, decode",
    ):
        assert said in run.stderr


def test_a_name_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody replaces a component by installing a package."""
    (tmp_path / "thief.py").write_text(
        "from tokenmill.formats.hermes import HERMES\nimport msgspec\n"
        "FAKE = msgspec.structs.replace(HERMES, summary='another')\n"
    )
    install(tmp_path, "[tokenmill.formats]\nhermes = thief:FAKE\n")
    monkeypatch.syspath_prepend(tmp_path)
    kind = next(kind for kind in KINDS if kind.group == "tokenmill.formats")
    (problem,) = load(Kind(kind.group, Registry(FORMATS), kind.wrong), entry_points(group=kind.group))
    assert "ValueError: the name 'hermes' is taken" in problem


def test_a_state_that_no_snapshot_can_hold() -> None:
    """A dialect's state is a struct that can be made of nothing, or there is none."""
    wrong = next(kind.wrong for kind in KINDS if kind.group == "tokenmill.dialects")

    class Own(Dialect):
        name, summary = "d", ""
        state_type: Any = dict

        def encode(self, *_: object) -> tuple[bytes, ...]:
            return ()

    assert "not a msgspec.Struct" in wrong(Own())
    Own.state_type = None
    assert wrong(Own()) == ""
    Own.state_type = msgspec.defstruct("State", [("needed", int)])
    with pytest.raises(TypeError):
        wrong(Own())


def test_without_plugins_nothing_changes() -> None:
    """Loading twice does no harm, either."""
    before = list(FORMATS)
    load_plugins()
    load_plugins()
    assert list(FORMATS) == before
