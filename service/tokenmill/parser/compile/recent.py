"""What was made lately and may be wanted again: bounded by number and by bytes, the longest unused goes first."""

from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key. Threads may share it: each step is one of the dictionary, and no sum is kept beside it."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def bytes(self) -> int:
        """Of all values that are kept."""
        return sum(size for _, size in list(self._kept.values()))

    def get(self, key: K) -> V | None:
        """The value, if it is kept."""
        found = self._kept.get(key)
        if found is None:
            return None
        with suppress(KeyError):  # another thread may have had to forget it
            self._kept.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value that takes about so many bytes; one that is larger than all may be is not, and costs no other
        its place.
        """
        self._kept.pop(key, None)
        if size > self._most_bytes:
            return
        self._kept[key] = value, size
        excess = self.bytes - self._most_bytes
        with suppress(KeyError):  # other threads may have forgotten all
            while excess > 0 or len(self._kept) > self._most:
                _, (_, freed) = self._kept.popitem(last=False)
                excess -= freed
