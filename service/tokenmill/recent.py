"""Values that were made recently and may be needed again: grammars, patterns, options of headers."""

from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key, bounded by number and by bytes: the least recently used goes first.

    Threads may share it: each step is one operation of the dictionary, and no sum is kept beside it.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def bytes(self) -> int:
        """Bytes of all values that are kept."""
        return sum(size for _, size in list(self._kept.values()))

    def get(self, key: K) -> V | None:
        """Return the value, if it is kept."""
        found = self._kept.get(key)
        if found is None:
            return None
        with suppress(KeyError):  # another thread may have dropped it
            self._kept.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value that takes about `size` bytes. A value above the bound of all is not kept, and displaces no
        other.
        """
        self._kept.pop(key, None)
        if size > self._most_bytes:
            return
        self._kept[key] = value, size
        excess = self.bytes - self._most_bytes
        with suppress(KeyError):  # other threads may have dropped all
            while excess > 0 or len(self._kept) > self._most:
                _, (_, freed) = self._kept.popitem(last=False)
                excess -= freed
