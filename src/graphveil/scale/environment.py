"""The code, the libraries and the threads of linear algebra, on which numbers depend bit for bit.

Two machines compute the same numbers only where these are the same.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

import threadpoolctl

from graphveil.errors import EngineError
from graphveil.version import __version__, source_digest

# Libraries that compute numbers.
LIBRARIES = ("numba", "numpy", "scikit-learn", "scipy", "torch", "torch_geometric")
# Of a digest, as many digits as tell versions apart.
SHOWN = 12


def versions() -> dict[str, str]:
    """Return the versions of graphveil, Python and the libraries, by name."""
    return {
        "graphveil": f"{__version__}, source {source_digest()[:SHOWN]}",
        "Python": platform.python_version(),
        **{library: _version(library) for library in LIBRARIES},
    }


def check_same(theirs: Mapping[str, str]) -> None:
    """Refuse to compute for a process that has other versions: its numbers would be others."""
    ours = versions()
    other = [name for name in theirs if ours.get(name) != theirs[name]]
    if other:
        said = "; ".join(f"{name} {ours.get(name, NONE)} in place of {theirs[name]}" for name in other)
        raise EngineError(
            f"the worker on {platform.node()} has {said}, so its numbers could be others: install the same versions on every node"
        )


def algebra_threads() -> int:
    """Return the number of threads that linear algebra takes here, the largest where libraries differ."""
    return max((int(each["num_threads"]) for each in _algebra().info()), default=1)


def set_algebra_threads(count: int) -> None:
    """Let linear algebra take so many threads, in this whole process."""
    for library in _algebra().lib_controllers:
        library.set_num_threads(count)


NONE = "none"


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return NONE


def _algebra() -> threadpoolctl.ThreadpoolController:
    return threadpoolctl.ThreadpoolController().select(user_api="blas")
