"""Things by name: one kind of registry for mechanisms, methods, datasets, backbones and measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TypeVar

from graphveil.errors import InputError, UnknownNameError

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """What can be asked for by name, in the order in which it was added. ``what`` is what errors call it.

    >>> fruit = Registry[int]("fruit", {"apple": 1, "pear": 2})
    >>> fruit.find("apple"), list(fruit)
    (1, ['apple', 'pear'])
    """

    def __init__(self, what: str, items: Mapping[str, T] | Iterable[tuple[str, T]] = ()) -> None:
        self.what = what
        self._items: dict[str, T] = dict(items)

    def add(self, name: str, item: T) -> None:
        """Add something; a name is given once."""
        if name in self._items:
            raise InputError(f"a {self.what} named {name!r} is registered already: take another name")
        self._items[name] = item

    def remove(self, name: str) -> None:
        """Forget something."""
        self.find(name)
        del self._items[name]

    def find(self, name: str) -> T:
        """What has that name, or an error that lists all names and suggests the nearest."""
        if name not in self._items:
            raise unknown_name(self.what, name, self._items)
        return self._items[name]

    def __getitem__(self, name: str) -> T:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Registry({self.what}: {', '.join(self._items)})"


def unknown_name(what: str, name: str, names: Iterable[str]) -> UnknownNameError:
    """The error for a name that nothing has.

    >>> print(unknown_name("mechanism", "multibyte", ["onebit", "multibit"]))
    no mechanism is named 'multibyte': choose one of onebit, multibit; did you mean 'multibit'?
    """
    known = list(names)
    near = get_close_matches(str(name), known, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ""
    return UnknownNameError(f"no {what} is named {name!r}: choose one of {', '.join(known)}{guess}")
