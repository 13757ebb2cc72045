"""Components by name: those of this package, and those that other packages bring (see `plugins`).

1. A name or alias names one component; case does not matter.
2. Commands load the components of other packages when they start. In other programs the first name that this package
   does not have loads them, so the result of a lookup never depends on earlier lookups, or on those of other threads.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from threading import RLock
from typing import Protocol, TypeVar, overload


class Named(Protocol):
    """A component. It may have `aliases`, too."""

    @property
    def name(self) -> str:
        """Name in configurations and messages."""


T = TypeVar("T", bound=Named)


LONGEST_NAME = 64
"""Characters of a name that are compared with the known ones: it may come from a record, and no known one is longer."""

NEARNESS = 0.7
"""Similarity of names that are suggested, from 0 to 1: one letter of four may be wrong, two of six may not."""


_LOADING = RLock()
"""Lock for loading foreign components, shared by all registries: loading for one of them asks another."""

LOADING_S = 10.0
"""Seconds that a thread waits for another one's loading, which may itself wait for an import of this thread."""


def known_names(name: str, known: Collection[str], aliases: Collection[str] = ()) -> str:
    """A hint for an unknown name: a similar known name or alias, or else all known names."""
    near = get_close_matches(name[:LONGEST_NAME].lower(), [*known, *aliases], 1, NEARNESS)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"


def load_others() -> None:
    """Load the components of other packages and of systems. Raises `ConfigError`."""
    import_module("tokenmill.plugins").load_plugins()  # searches all installed packages


class Registry(Sequence[T]):
    """The codecs, the formats or the dialects: those of this package in their order, then those of others."""

    def __init__(
        self,
        built_in: Iterable[T],
        reserved: Collection[str] = (),
        others: Callable[[], None] | None = load_others,
    ) -> None:
        """`reserved` are names that no component may have; `others` adds more when a name is not found."""
        self._others = others
        self._components: list[T] = []
        self._by_name: dict[str, T] = {}
        self._reserved = reserved
        for component in built_in:
            self.add(component)

    @overload
    def __getitem__(self, at: int) -> T: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...

    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self._components[at]

    def __iter__(self) -> Iterator[T]:
        return iter(self._components)

    def __len__(self) -> int:
        return len(self._components)

    def instead_of(self, name: str) -> str:
        """A hint for this unknown name: see `known_names`."""
        return known_names(name, [component.name for component in self._components], self._by_name)

    def add(self, component: T) -> None:
        """Add a component; adding it again has no effect. Raises `ValueError` if a name of it is taken."""
        names = [name.lower() for name in (component.name, *getattr(component, "aliases", ()))]
        for name in names:
            if name in self._reserved or self._by_name.get(name, component) is not component:
                raise ValueError(f"the name {name!r} is taken")
        if self._by_name.get(names[0]) is None:
            self._components.append(component)
            self._by_name.update(dict.fromkeys(names, component))

    def find(self, name: str) -> T | None:
        """The component with this name or alias. If there is none, raises what loading the others raises, each time."""
        found = self._by_name.get(name) or self._by_name.get(name.lower())
        if found is None:
            held = _LOADING.acquire(timeout=LOADING_S)
            try:
                self._load_others()
            except Exception:
                if name.lower() not in self._by_name:  # a fault of one component is not another's
                    raise
            finally:
                if held:
                    _LOADING.release()
            found = self._by_name.get(name.lower())
        return found

    def _load_others(self) -> None:
        others, self._others = self._others, None
        if others is not None:
            try:
                others()
            except BaseException:
                self._others = others
                raise
