"""Components by name: those of this package, and those that other packages bring (see `plugins`).

1. A name or alias leads to one component, in any case of its letters.
2. What is there is fixed when the process has started: looking a name up never changes anything.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Generic, Protocol, TypeVar


class Named(Protocol):
    """A component. It may have `aliases`, too."""

    @property
    def name(self) -> str:
        """What configurations and messages call it."""


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """The codecs, the formats or the dialects."""

    def __init__(self, built_in: Iterable[T], reserved: Collection[str] = ()) -> None:
        self._components: list[T] = []
        self._by_name: dict[str, T] = {}
        self._reserved = reserved
        for component in built_in:
            self.add(component)

    def __iter__(self) -> Iterator[T]:
        return iter(self._components)

    @property
    def names(self) -> str:
        """All names, for people to choose from."""
        return ", ".join(component.name for component in self._components)

    def add(self, component: T) -> None:
        """Make a component known; once more is no harm. Raises `ValueError` if a name of it is taken."""
        names = [name.lower() for name in (component.name, *getattr(component, "aliases", ()))]
        for name in names:
            if name in self._reserved or self._by_name.get(name, component) is not component:
                raise ValueError(f"the name {name!r} is taken")
        if self._by_name.get(names[0]) is None:
            self._components.append(component)
            self._by_name.update(dict.fromkeys(names, component))

    def find(self, name: str) -> T | None:
        """The component of this name or alias."""
        return self._by_name.get(name) or self._by_name.get(name.lower())
