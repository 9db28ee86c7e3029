"""A cache that is bounded by the total size of its values, not by their number."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class SizedCache:
    """The values used last, with at most ``most`` numbers together; a larger value is never kept.

    What a server asks decides what a client builds: a cache that counts things would hold many large ones.

    >>> cache = SizedCache(10)
    >>> [cache.get(key, lambda: [0] * 6, len) is cache.get(key, lambda: [1] * 6, len) for key in "ab"]
    [True, True]
    >>> cache.size
    6
    """

    def __init__(self, most: int) -> None:
        self.most, self.size = most, 0
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T], measure: Callable[[T], int]) -> T:
        """Return the cached value of a key; make and keep it if it is missing.

        Parameters
        ----------
        make
            Computes the value. It runs outside the lock, so two threads may both compute it.
        measure
            Returns how many numbers a value holds. A value larger than ``most`` is returned but not kept.
        """
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                found: T = self._held[key][0]
                return found
        value = make()
        size = max(1, measure(value))
        with self._lock:
            if size <= self.most and key not in self._held:
                self._held[key] = value, size
                self.size += size
                while self.size > self.most:
                    self.size -= self._held.popitem(last=False)[1][1]
        return value

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            self._held.clear()
            self.size = 0
