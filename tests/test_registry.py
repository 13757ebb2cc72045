"""Components by name."""

from typing import NamedTuple

import pytest

from tokenmill.registry import Registry


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
    assert registry.names == "a, B"


def test_a_component_is_added_once() -> None:
    """The same again is no harm."""
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
