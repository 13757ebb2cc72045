"""Neither states nor events change without their version."""

import click
import msgspec
import pytest

from tests.structure.tree import CHECKOUT
from tokenmill.gen import state_lock
from tokenmill.gen.state_lock import LOCK, Lock, drifts, now, text

OLD = Lock(
    {"EVENTS_VERSION": 2, "SCHEMA": 7, "SNAPSHOT_VERSION": 1},
    {"parser.state.State": ["a: int", "b: str"], "dialects.openai.OpenAIState": ["c: bool"]},
    {"hermes": {"one": "events state", "two": "events state"}},
)


def changed(**fields: object) -> Lock:
    return msgspec.structs.replace(OLD, **fields)


@pytest.mark.parametrize(
    ("new", "raised"),
    [
        (OLD, []),
        (changed(structs={**OLD.structs, "parser.state.State": ["b: str", "a: int"]}), ["SCHEMA", "SNAPSHOT_VERSION"]),
        (changed(structs={**OLD.structs, "dialects.openai.OpenAIState": []}), ["SCHEMA"]),
        (changed(structs={"parser.state.State": ["a: int", "b: str"]}), ["SCHEMA"]),
        (changed(structs={**OLD.structs, "new": ["d: int"]}), []),
        (changed(cases={"hermes": {"one": "events state", "two": "other state"}}), ["EVENTS_VERSION"]),
        (changed(cases={"hermes": {"one": "events other", "two": "events state"}}), ["SCHEMA", "SNAPSHOT_VERSION"]),
        (changed(cases={"hermes": {"one": "events state", "three": "events state"}}), []),
        (changed(cases={"other": {"one": "other other"}}), []),
    ],
)
def test_what_changes_has_its_version_raised(new: Lock, raised: list[str]) -> None:
    """The order of fields is a change; what is new is none, nor is a case that is gone."""
    said = list(drifts(OLD, new))
    assert [sentence.split()[0] for sentence in said] == raised
    versions = {name: number + (name in raised) for name, number in OLD.versions.items()}
    assert list(drifts(OLD, msgspec.structs.replace(new, versions=versions))) == []


def test_the_lock_holds_all_that_a_snapshot_may() -> None:
    """States of codecs, dialects, parsers and of the partition itself, and every case with its format."""
    lock = msgspec.json.decode((CHECKOUT / LOCK).read_bytes(), type=Lock)
    assert lock == now()
    names = set(lock.structs)
    assert {
        "partition.snapshot.Meta",
        "parser.run.state.State",
        "dialects.openai.OpenAIState",
        "codecs.openai._Message",
    } <= names
    assert lock.structs["parser.run.state.JsonState"][0] == "stack: str"
    assert min(len(found) for found in lock.cases.values()) > 0


def test_a_lock_is_not_written_over_a_change_without_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make gen` says what has to be raised, and so does `make test`."""
    drifted = msgspec.structs.replace(now(), structs={**now().structs, "partition.snapshot.Meta": []})
    monkeypatch.setattr(state_lock, "now", lambda: drifted)
    message = r"SCHEMA has to be raised: 1 changed, such as partition\.snapshot\.Meta"
    with pytest.raises(click.ClickException, match=message):
        text()
