"""Packages that load a module when one of its names is first used, so that a command can check its arguments before torch."""

from __future__ import annotations

from functools import cache
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any


def scale() -> Any:
    """Return the package `graphveil.scale`: the one place where rooms below the command line reach it, when they first need it."""
    return import_module("graphveil.scale")


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` (PEP 562) of a package whose modules are loaded later; ``__all__`` is found by the first.

    The names are those that the package's ``if TYPE_CHECKING:`` block imports from the package itself, so that they stand in one place, where type checkers read
    them too, and those that it imports as themselves with the package (``from graphveil.audit import audit as audit``). Modules are
    found by their own names as well.

    Parameters
    ----------
    package
        Its ``__name__``.
    file
        Its ``__file__``.
    """

    def find(name: str) -> Any:
        places = _imported_names(package, file)
        if name == "__all__":
            return sorted(places, key=_listing_order)
        if places.get(name):
            return getattr(import_module(places[name]), name)
        if name in places or f"{package}.{name}" in places.values():
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find, lambda: sorted(_imported_names(package, file))


def registered_names(file: Path, registry: str) -> tuple[str, ...]:
    """Return the names of a registry that a file fills with a dictionary, without importing the file.

    Names then stand in one place, and a wrong one is refused before torch is there.

    >>> from pathlib import Path
    >>> registered_names(Path(__file__).parent / "learn" / "backbones.py", "BACKBONES")[:2]
    ('gcn', 'sage')
    """
    import ast

    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text[text.index(f"\n{registry} = ") :])
    items = next(node for node in ast.walk(tree) if isinstance(node, ast.Dict))
    return tuple(ast.literal_eval(key) for key in items.keys if key is not None)


@cache
def _imported_names(package: str, file: str) -> dict[str, str]:
    """Return the module of each name that a file exports; none for a name that is a module itself."""
    import ast

    with open(file, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    later = [node for block in tree.body if isinstance(block, ast.If) for node in block.body]
    return {
        name.name: "" if node.module == package else str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(package)
        for name in node.names
        if node in later or name.asname == name.name
    }


def _listing_order(name: str) -> tuple[bool, bool, str]:
    """Return the sort key of a name: constants first, then classes, then the rest, each alphabetically."""
    return not name.isupper(), not name[0].isupper(), name
