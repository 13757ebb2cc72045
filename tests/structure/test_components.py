"""A component is one file, one line in its list, and cases: nobody can register one and forget the rest."""

from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.structure.tree import PACKAGE, TESTS
from tokenmill.codecs import CODECS, Codec
from tokenmill.dialects import DIALECTS, Dialect
from tokenmill.formats import FORMATS, find_format
from tokenmill.parser import Format
from tokenmill.plugins import KINDS, OWN, Kind

LISTS: dict[str, Sequence[Codec | Dialect | Format]] = {"codecs": CODECS, "dialects": DIALECTS, "formats": FORMATS}
COMPONENTS = [(folder, component.name) for folder, components in LISTS.items() for component in components]


def file_of(folder: str, name: str) -> Path:
    """Where the component is, below the package: in its folder, or where its entry point says."""
    found = [entry.module for entry in entry_points(group=f"tokenmill.{folder}") if entry.name == name]
    module = found[0].removeprefix("tokenmill.") if found else f"{folder}.{name}"
    return Path(*module.split(".")).with_suffix(".py")


@pytest.mark.parametrize(("folder", "name"), COMPONENTS)
def test_a_component_is_one_file(folder: str, name: str) -> None:
    """The codec `text` is `codecs/text.py`, tested by `tests/codecs/test_text.py`; formats have cases."""
    path = file_of(folder, name)
    assert (PACKAGE / path).exists()
    assert folder == "formats" or (TESTS / path.with_name(f"test_{path.name}")).exists()


def test_what_exists_for_one_system_is_found_as_a_plug_in_is() -> None:
    """Every component below `systems` is an entry point, and nothing else of the package knows one."""
    declared = {
        file_of(folder, name).parts[1] for folder, name in COMPONENTS if file_of(folder, name).parts[0] == "systems"
    }
    assert declared == {path.name for path in (PACKAGE / "systems").iterdir() if (path / "__init__.py").exists()}
    others = [path for path in PACKAGE.rglob("*.py") if "systems" not in path.parts]
    assert [str(path) for path in others if "tokenmill.systems" in path.read_text()] == []


@pytest.mark.parametrize("name", [format_.name for format_ in FORMATS])
def test_a_format_has_cases(name: str) -> None:
    """The conformance suite would pass a format without cases."""
    assert (TESTS / "cases" / "formats" / f"{name}.jsonl").read_text().count("\n") > 0


def test_cases_belong_to_formats() -> None:
    """No file of cases that nothing runs."""
    cases = {path.stem for path in (TESTS / "cases" / "formats").glob("*.jsonl")}
    assert cases == {format_.name for format_ in FORMATS}


@pytest.mark.parametrize("folder", LISTS)
def test_names_are_given_once(folder: str) -> None:
    """Two components of a list never share a name; an alias of a format leads to one format."""
    names = [name for kind, name in COMPONENTS if kind == folder]
    assert len(names) == len(set(names))


def test_aliases_lead_to_their_format() -> None:
    """An alias is nobody else's name or alias."""
    for format_ in FORMATS:
        assert {find_format(alias).name for alias in (format_.name, *format_.aliases)} == {format_.name}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.group)
def test_nothing_is_wrong_with_what_this_package_brings(kind: Kind) -> None:
    """As it would be said of another package's at each start."""
    found = [entry for entry in entry_points(group=kind.group) if entry.module.startswith(OWN)]
    assert found != []
    assert [kind.wrong(entry.load()) for entry in found] == [""] * len(found)
