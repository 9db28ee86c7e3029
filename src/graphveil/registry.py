"""Things by name: one kind of registry for mechanisms, methods, datasets, backbones and measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib.metadata import EntryPoint
from typing import Any, TypeVar

from graphveil.errors import InputError, UnknownNameError
from graphveil.outside import (
    Origin,
    divided,
    find_in,
    is_reference,
    load_file,
    load_plugin,
    note,
    package,
    plugins,
    running,
)

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """What can be asked for by name, in the order in which it was added. ``what`` is what errors call it.

    `find` knows what is registered and runs nobody's code: names that came over a network or from a stored result are looked up
    by it. `load` also takes FILE.py:NAME and what installed packages offer in ``group``, which runs their code. What was found
    there becomes an item by ``adapt(name, member)``, which refuses what is of the wrong kind.

    >>> fruit = Registry[int]("fruit", {"apple": 1, "pear": 2})
    >>> fruit.find("apple"), list(fruit)
    (1, ['apple', 'pear'])
    """

    def __init__(
        self,
        what: str,
        items: Mapping[str, T] | Iterable[tuple[str, T]] = (),
        *,
        group: str | None = None,
        adapt: Callable[[str, Any], T] | None = None,
    ) -> None:
        self.what, self.group = what, group
        self._items: dict[str, T] = dict(items)
        self._adapt = adapt
        self._origins: dict[str, Origin] = {}

    def add(self, name: str, item: T) -> None:
        """Add something; a name is given once."""
        if name in self._items:
            raise InputError(f"a {self.what} named {name!r} is registered already: take another name")
        self._items[name] = item
        origin = note(self, name, item)
        if origin is not None:
            self._origins[name] = origin

    def remove(self, name: str) -> None:
        """Forget something."""
        self.find(name)
        self.forget(name)

    def forget(self, name: str) -> None:
        """Forget something, if it is there."""
        self._items.pop(name, None)
        self._origins.pop(name, None)

    def holds(self, name: str, item: Any) -> bool:
        """Whether a name stands for this very thing."""
        return name in self._items and self._items[name] is item

    def find(self, name: str) -> T:
        """What has that name, or an error that lists all names and suggests the nearest."""
        if name not in self._items:
            raise unknown_name(self.what, name, self._items)
        return self._items[name]

    def load(self, name: str) -> T:
        """What has that name, from FILE.py:NAME or from an installed package too; found by `find` from then on."""
        if is_reference(name):
            return self._from_file(name)
        if name not in self._items:
            offered = self._plugins()
            if name not in offered:
                raise unknown_name(self.what, name, [*self.own(), *offered])
            self._from_package(offered[name])
        return self._items[name]

    def load_all(self, warn: Callable[[str], None]) -> list[str]:
        """Load what installed packages offer; the names of all there is. ``warn`` is told in a sentence of what is broken."""
        for point in self._plugins().values():
            try:
                self._from_package(point)
            except InputError as error:
                warn(str(error))
        return self.own()

    def own(self) -> list[str]:
        """All names but those of files."""
        return [name for name in self._items if not is_reference(name)]

    def origin(self, name: str) -> Origin | None:
        """Where something was loaded from; None for what is the library's own or was registered by hand."""
        return self._origins.get(name)

    def _plugins(self) -> dict[str, EntryPoint]:
        return {} if self.group is None else plugins(self.group)

    def _from_package(self, point: EntryPoint) -> None:
        """Add what a package offers, unless that was done."""
        origin = package(point)
        if self._origins.get(point.name) == origin:
            return
        if point.name in self._items:
            raise InputError(
                f"{origin.words} offers a {self.what} named {point.name!r}, which there is already: it is left out"
            )
        item = self._adapted(point.name, load_plugin(point, self.what))
        self.forget(point.name)
        self._items[point.name], self._origins[point.name] = item, origin

    def _from_file(self, reference: str) -> T:
        """What a file has under a name: one that it registers, or one that it defines."""
        path, name = divided(reference, self.what)
        file = load_file(path)
        # The same words may have named another file, in another folder.
        if reference not in file.registered(self):
            self.forget(reference)
            if name in file.registered(self):
                member: Any = self._items[name]
            else:
                member = find_in(file, name, file.registered(self), path, self.what)
            with running(file):
                self.add(reference, self._adapted(reference, member))
        return self._items[reference]

    def _adapted(self, name: str, member: Any) -> T:
        if self._adapt is None:
            raise InputError(f"a {self.what} cannot be brought from outside: choose one of {', '.join(self)}")
        return self._adapt(name, member)

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
