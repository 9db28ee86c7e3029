"""Settings: the one place that reads the environment, and what the machine has.

GRAPHVEIL_DATA     a folder of graphs (NAME.npz); it is looked into first
GRAPHVEIL_CACHE    where downloaded graphs and results are kept; without it, the user's own cache folder
GRAPHVEIL_STATE    where a device keeps its books and their witness; without it, the user's own folders for each
"""

from __future__ import annotations

import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Settings", "available_gigabytes", "device_file", "peak_megabytes", "settings", "witness_folder"]


@dataclass(frozen=True)
class Settings:
    """Where graphs are looked for, and where graphs and results are kept."""

    data: Path | None
    cache: Path


def settings() -> Settings:
    """The settings as the environment has them now."""
    return Settings(_folder("GRAPHVEIL_DATA"), _folder("GRAPHVEIL_CACHE") or _user_cache() / "graphveil")


def _folder(variable: str) -> Path | None:
    value = os.environ.get(variable, "")
    return Path(value).expanduser() if value else None


def _user_cache() -> Path:
    """The folder that the platform keeps for caches of this user."""
    if sys.platform == "win32":
        return _folder("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return _folder("XDG_CACHE_HOME") or Path.home() / ".cache"


def device_file() -> Path:
    """The books of this user's device, unless another file is named."""
    state = _folder("GRAPHVEIL_STATE")
    if state is not None:
        return state / "device.sqlite"
    if sys.platform in ("win32", "darwin"):
        return _user_state() / "graphveil" / "device.sqlite"
    return (_folder("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "graphveil" / "device.sqlite"


def witness_folder() -> Path:
    """Where programs of this user remember how far the books of devices have come, apart from the books."""
    return (_folder("GRAPHVEIL_STATE") or _user_state() / "graphveil") / "witnesses"


def _user_state() -> Path:
    """The folder that the platform keeps for what programs of this user must remember."""
    if sys.platform == "win32":
        return _folder("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return _folder("XDG_STATE_HOME") or Path.home() / ".local" / "state"


def available_gigabytes() -> float:
    """The memory that this machine has left."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024 / 1e9
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def peak_megabytes() -> float:
    """The largest memory that this process has held so far.

    Linux counts into ru_maxrss what the process that started this one held, but not into VmHWM.
    """
    if sys.platform == "linux":
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / (1 << 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
