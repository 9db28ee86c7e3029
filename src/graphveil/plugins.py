"""Code from outside: functions and classes from FILE.py:NAME or an installed package, and registries of what has a name."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from graphveil.errors import InputError, UnknownNameError

SUFFIX = ".py"
# How the modules of files are called.
PREFIX = "graphveil_user_"


@dataclass(frozen=True)
class Origin:
    """The file or package that something was loaded from, and a digest of the file or the package's version.

    ``path`` is the file's path as it was given.
    """

    words: str
    digest: str
    path: str = ""


@dataclass(kw_only=True)
class Source:
    """Code from outside that was run, and what it has registered: registry, name and item."""

    origin: Origin
    added: list[tuple[Registry[Any], str, Any]] = field(default_factory=list)

    def registered(self, registry: Registry[Any]) -> list[str]:
        """Return the names that it has registered there."""
        return [name for where, name, _ in self.added if where is registry]


@dataclass(kw_only=True)
class File(Source):
    """A file that was run: what it defines, and the modules beside it that it has imported."""

    path: Path
    module: ModuleType
    beside: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether everything that it registered is still there."""
        return all(registry.holds(name, item) for registry, name, item in self.added)

    def forget(self) -> None:
        """Take back all that it has registered and imported, so that it can be run again."""
        for registry, name, item in self.added:
            if registry.holds(name, item):
                registry.forget(name)
        for name in self.beside:
            sys.modules.pop(name, None)
        self.added.clear()


# Files that were run in this process, by their full path.
_files: dict[Path, File] = {}
# What is being run, the innermost last: what is registered meanwhile is its own.
_running: list[Source] = []
# How many experiments hold on to what was run, so that a change of a file does not reach them halfway.
_holding: list[None] = []
# What another process has run, by full path: this one must run the same.
_expected: dict[Path, str] = {}


def is_reference(name: str) -> bool:
    """Return whether a name refers to something in a file.

    >>> is_reference("mine.py:Mine"), is_reference("mine.py"), is_reference("gcn")
    (True, True, False)
    """
    return SUFFIX + ":" in name or name.endswith(SUFFIX)


def divided(reference: str, what: str = "thing") -> tuple[Path, str]:
    """Return the file of a reference and the name in it."""
    path, _, name = reference.rpartition(":")
    if not path or not name:
        raise InputError(f"a {what} in a file is named PATH.py:NAME, got {reference!r}")
    return Path(path).expanduser(), name


def plain_name(name: str) -> str:
    """Return a name that can be part of a file name.

    >>> plain_name("folder/mine.py:Mine"), plain_name("gcn")
    ('Mine', 'gcn')
    """
    return name.rpartition(":")[2] if is_reference(name) else name


def digest(name: str, group: str = "") -> str | None:
    """Return the digest of code from outside: of its file, as it was run or as it is now, or of its package; None for other names.

    >>> digest("gcn")
    """
    if is_reference(name):
        path, _ = divided(name)
        loaded = _files.get(path.resolve())
        return _content(path)[1] if loaded is None else loaded.origin.digest
    point = plugins(group).get(name)
    return None if point is None else package(point).digest


@contextmanager
def running(source: Source) -> Iterator[None]:
    """Attribute everything that is registered inside the block to ``source``."""
    _running.append(source)
    try:
        yield
    finally:
        _running.pop()


def load_file(path: Path) -> File:
    """Run a Python file as a module of its own: once, and again if its content has changed since (unless that is `held`)."""
    full = path.resolve()
    if _holding and full in _files and _files[full].complete:
        return _files[full]
    source, now = _content(path)
    if any(isinstance(file, File) and file.path == full for file in _running):
        raise InputError(
            f"{path} asks for itself while it is run: put what is to happen once below `if __name__ == '__main__':`"
        )
    if _expected.get(full, now) != now:
        raise InputError(f"{path} was changed while an experiment was running with it: run it again")
    known = _files.get(full)
    if known is not None:
        if known.origin.digest == now and known.complete:
            return known
        known.forget()
    file = File(origin=Origin(f"the file {path.name}", now, str(path)), path=full, module=_module(full))
    _run(file, source, path)
    _files[full] = file
    return file


def named_in(pickled: bytes) -> list[Path]:
    """Return the files run here that a pickle names; another process must run them before unpickling."""
    return [path for path, file in _files.items() if file.module.__name__.encode() in pickled]


@contextmanager
def held() -> Iterator[None]:
    """Keep files inside the block as they were when they were run, even if they change on disk."""
    _holding.append(None)
    try:
        yield
    finally:
        _holding.pop()


def expected() -> dict[Path, str]:
    """Return the digests of all files that were run here, for other processes that run the same files."""
    return {**_expected, **{path: file.origin.digest for path, file in _files.items()}}


def expect(digests: Mapping[Path, str]) -> None:
    """Reject, from now on, files whose content does not match these digests."""
    _expected.update(digests)


def _content(path: Path) -> tuple[bytes, str]:
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}: give the path of a Python file, PATH.py:NAME")
    if path.suffix != SUFFIX:
        raise InputError(f"{str(path)!r} is no Python file: its name must end in {SUFFIX}")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): name another file") from None
    return source, hashlib.sha256(source).hexdigest()


def _module(path: Path) -> ModuleType:
    """Return an empty module for a file, under a name of its own that is the same in every process."""
    key = hashlib.blake2b(str(path).encode(), digest_size=8).hexdigest()
    spec = importlib.util.spec_from_file_location(f"{PREFIX}{key}", path)
    assert spec is not None
    return importlib.util.module_from_spec(spec)


def _run(file: File, source: bytes, path: Path) -> None:
    """Run these very bytes: what the digest is of."""
    name, folder = file.module.__name__, str(file.path.parent)
    # Data classes look their module up while they are made.
    sys.modules[name] = file.module
    before = set(sys.modules)
    # What lies beside the file can be imported from it, as if it were run by itself.
    sys.path.insert(0, folder)
    failed: BaseException | None = None
    try:
        with running(file):
            # Not by a loader, which would read the file a second time or take bytecode that is as old to the second.
            exec(compile(source, str(file.path), "exec", dont_inherit=True), vars(file.module))  # noqa: S102
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- it is raised again below
        failed = error
    finally:
        sys.path.remove(folder)
    new = {
        other: str(getattr(sys.modules[other], "__file__", None) or "")
        for other in sys.modules.keys() - before
    }
    file.beside = [other for other, place in new.items() if place.startswith(folder)]
    if failed is not None:
        file.forget()
        _files.pop(file.path, None)
        del sys.modules[name]
        raise InputError(f"{path} cannot be imported: {type(failed).__name__}: {failed}") from failed


def find_in(file: File, name: str, registered: list[str], shown: Path, what: str) -> Any:
    """Return what a file defines under a name, or raise an error that lists the names it has.

    Parameters
    ----------
    registered
        Names that the file has registered; the error lists them too.
    shown
        The path that the error shows.
    what
        The noun for the kind of thing, as errors call it.
    """
    member = getattr(file.module, name, None)
    if member is not None:
        return member
    module = file.module.__name__
    defined = vars(file.module).items()
    own = [key for key, value in defined if callable(value) and getattr(value, "__module__", None) == module]
    offered = [*(key for key in sorted(registered) if not is_reference(key)), *own]
    raise InputError(f"{shown} has no {name!r}: it has {', '.join(offered) or f'no {what}'}")


def plugins(group: str) -> dict[str, EntryPoint]:
    """Return the entry points that installed packages offer in a group, by name, without importing them."""
    offered: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        offered.setdefault(point.name, point)
    return offered


def package(point: EntryPoint) -> Origin:
    """Return the package that offers something."""
    if point.dist is None:
        return Origin(f"the package of {point.value}", point.value)
    named = f"{point.dist.name} {point.dist.version}"
    return Origin(f"the package {named}", named)


T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Items by name, in the order in which they were added. ``what`` is the noun that errors use.

    `find` looks only at registered names and runs no code: use it for names that came over a network or from
    a stored result. `load` also takes FILE.py:NAME and the names that installed packages offer in ``group``,
    and runs their code. A member found there becomes an item by ``adapt(name, member)``, which rejects the
    wrong kind.

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
        self._taken: dict[str, T] = {}

    def add(self, name: str, item: T) -> None:
        """Add something; a name is given once."""
        if name in self._items:
            raise InputError(f"a {self.what} named {name!r} is registered already: take another name")
        self._items[name] = item
        if _running:
            _running[-1].added.append((self, name, item))
            self._origins[name] = _running[-1].origin

    def take(self, member: Any) -> str:
        """Add something named that is given as an object or a class, in the place of one that was so before; its name."""
        item: Any = self._adapted(getattr(member, "__name__", type(member).__name__), member)
        if self.holds(item.name, self._taken.get(item.name)):
            self.forget(item.name)
        self.add(item.name, item)
        self._taken[item.name] = item
        return str(item.name)

    def remove(self, name: str) -> None:
        """Forget something."""
        self.find(name)
        self.forget(name)

    def forget(self, name: str) -> None:
        """Forget something, if it is there."""
        self._items.pop(name, None)
        self._origins.pop(name, None)

    def holds(self, name: str, item: Any) -> bool:
        """Return whether a name stands for this very object."""
        return name in self._items and self._items[name] is item

    def find(self, name: str) -> T:
        """Return the item of a name, or raise an error that lists all names and suggests the nearest."""
        if name not in self._items:
            raise unknown_name(self.what, name, self._items)
        return self._items[name]

    def load(self, name: str) -> T:
        """Return the item of a name, also from FILE.py:NAME or an installed package, and register it."""
        if is_reference(name):
            return self._from_file(name)
        if name not in self._items:
            offered = self._plugins()
            if name not in offered:
                raise unknown_name(self.what, name, [*self.own(), *offered])
            self._from_package(offered[name])
        return self._items[name]

    def load_all(self, warn: Callable[[str], None]) -> list[str]:
        """Load what installed packages offer, and return all names. ``warn`` gets a sentence for each that is broken."""
        for point in self._plugins().values():
            try:
                self._from_package(point)
            except InputError as error:
                warn(str(error))
        return self.own()

    def own(self) -> list[str]:
        """Return all names except those of files."""
        return [name for name in self._items if not is_reference(name)]

    def origin(self, name: str) -> Origin | None:
        """Return where an item was loaded from; None if it is the library's or was registered by hand."""
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
        try:
            with running(Source(origin=origin)):
                loaded = point.load()
        except (Exception, SystemExit) as error:
            raise InputError(
                f"the {self.what} {point.name!r} of {origin.words} cannot be loaded: {type(error).__name__}: {error}; "
                "mend that package or remove it"
            ) from error
        item = self._adapted(point.name, loaded)
        self.forget(point.name)
        self._items[point.name], self._origins[point.name] = item, origin

    def _from_file(self, reference: str) -> T:
        """Return what a file registers or defines under a name."""
        path, name = divided(reference, self.what)
        file = load_file(path)
        registered = file.registered(self)
        # The same words may have named another file, in another folder.
        if reference not in registered:
            self.forget(reference)
            member = (
                self._items[name] if name in registered else find_in(file, name, registered, path, self.what)
            )
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
    """Return the error for an unknown name.

    Parameters
    ----------
    what
        The noun for the kind of thing.
    name
        The unknown name.
    names
        The known names.

    >>> print(unknown_name("mechanism", "multibyte", ["onebit", "multibit"]))
    no mechanism is named 'multibyte': choose one of onebit, multibit; did you mean 'multibit'?
    """
    known = list(names)
    near = get_close_matches(str(name), known, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ""
    return UnknownNameError(f"no {what} is named {name!r}: choose one of {', '.join(known)}{guess}")
