"""A mechanism from a user's own file: PATH.py:NAME."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from graphveil.errors import InputError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.registry import names


def load_mechanism(reference: str) -> Mechanism | str | Callable[..., Mechanism]:
    """What ``PATH.py:NAME`` refers to, ready for an audit.

    NAME is a name that the file registers, a function or class in it that builds a mechanism, or a mechanism.
    """
    path, _, name = reference.rpartition(":")
    if not path or not name:
        raise InputError(f"a mechanism in a file is named PATH.py:NAME, got {reference!r}")
    before = set(names())
    module = _run(Path(path))
    registered = sorted(set(names()) - before)
    if name in registered:
        return name
    found = getattr(module, name, None)
    if isinstance(found, Mechanism) or callable(found):
        return found
    if found is not None:
        raise InputError(
            f"{name!r} in {path} is a {type(found).__name__}: name a function that builds a mechanism"
        )
    offered = registered + [
        key
        for key, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", None) == module.__name__
    ]
    raise InputError(
        f"{path} has no {name!r}: it has {', '.join(offered) or 'nothing that builds a mechanism'}"
    )


def _run(path: Path) -> ModuleType:
    """Import the file under a name of its own."""
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}: give the path of a Python file, PATH.py:NAME")
    key = hashlib.blake2b(str(path.resolve()).encode(), digest_size=8).hexdigest()
    spec = importlib.util.spec_from_file_location(f"graphveil_user_{key}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{str(path)!r} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    # Data classes look their module up while they are made.
    sys.modules[spec.name] = module
    # What lies beside the file can be imported from it, as if it were run by itself.
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[spec.name]
        raise InputError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent.resolve()))
    return module
