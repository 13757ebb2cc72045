"""Components by name."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import NamedTuple

import pytest

from tokenmill import registry as registry_module
from tokenmill.errors import ConfigError
from tokenmill.registry import Registry, known_names


class Thing(NamedTuple):
    """A component."""

    name: str
    aliases: tuple[str, ...] = ()


A, B = Thing("a", ("Alpha",)), Thing("B")


def test_names_in_any_case() -> None:
    """And aliases."""
    registry = Registry([A, B])
    assert [registry.find(name) for name in ("a", "A", "alpha", "ALPHA", "b", "B", "c")] == [A, A, A, A, B, B, None]
    assert list(registry) == [A, B]


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("alpa", "did you mean alpha?"),
        ("ALPHAS", "did you mean alpha?"),
        ("nonsense", "known are a, B"),
        ("alpha" * 100_000, "known are a, B"),
    ],
)
def test_an_unknown_name(name: str, instead: str) -> None:
    """The name or alias that was meant, where it is one letter away; else all names there are, without aliases."""
    assert Registry([A, B]).instead_of(name) == instead
    assert known_names(name, ["a", "B"], ["alpha"]) == instead


def test_a_component_is_added_once() -> None:
    """Adding the same again does no harm."""
    registry = Registry([A])
    registry.add(B)
    registry.add(B)
    assert list(registry) == [A, B]


@pytest.mark.parametrize("thing", [Thing("A"), Thing("c", ("alpha",)), Thing("x")])
def test_a_name_that_is_taken(thing: Thing) -> None:
    """By a name, by an alias, or for something else; nothing is added then."""
    registry = Registry([A], reserved=["x"])
    with pytest.raises(ValueError, match="is taken"):
        registry.add(thing)
    assert list(registry) == [A]


def test_an_unknown_name_asks_for_what_others_bring_once() -> None:
    """Programs that start no command have the components of other packages, too."""
    asked: list[Thing] = []

    def others() -> None:
        asked.append(Thing("Late"))
        registry.add(asked[-1])

    registry = Registry([Thing("early")], others=others)
    assert registry.find("early") is not None
    assert asked == []
    assert [registry.find(name) for name in ("LATE", "never", "late")] == [asked[0], None, asked[0]]
    assert len(asked) == 1


def test_threads_wait_for_what_others_bring() -> None:
    """None of them finds a name unknown while another one loads it."""
    loading, may_load = Event(), Event()

    def others() -> None:
        loading.set()
        assert may_load.wait(10)
        registry.add(B)

    registry = Registry([A], others=others)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(registry.find, "b")
        assert loading.wait(10)
        others_found = [threads.submit(registry.find, "b") for _ in range(3)]
        with pytest.raises(TimeoutError):
            others_found[0].result(0.05)
        may_load.set()
        assert [found.result(10) for found in (first, *others_found)] == [B] * 4


def test_what_is_wrong_with_others_is_said_each_time() -> None:
    """Not that a name is unknown, which would hide the reason."""

    def others() -> None:
        raise ConfigError(["entry point 'c': fix the package"])

    registry = Registry([A], others=others)
    for _ in range(2):
        with pytest.raises(ConfigError, match="fix the package"):
            registry.find("c")


def test_what_is_wrong_with_others_hides_nothing_that_they_bring() -> None:
    """A name that is there is found the first time, too: one package's fault is not another's."""

    def others() -> None:
        registry.add(B)
        raise ConfigError(["entry point 'c': fix the package"])

    registry = Registry([A], others=others)
    assert [registry.find("b") for _ in range(2)] == [B, B]


def test_a_name_that_is_looked_up_in_an_import_waits_for_nobody_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that loads may be waiting for that import."""
    monkeypatch.setattr(registry_module, "LOADING_S", 0.05)
    loading, looked_up = Event(), Event()

    def others() -> None:
        loading.set()
        assert looked_up.wait(10)

    registry = Registry([A], others=others)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(registry.find, "b")
        assert loading.wait(10)
        assert threads.submit(registry.find, "b").result(10) is None
        looked_up.set()
        assert first.result(10) is None
