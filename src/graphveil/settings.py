"""Settings: the one place that reads the environment, and what the machine has.

GRAPHVEIL_DATA     a folder of graphs (NAME.npz); it is looked into first
GRAPHVEIL_CACHE    where downloaded graphs and results are kept; without it, the user's own cache folder
GRAPHVEIL_STATE    where a device keeps its books; without it, the user's own data folder
GRAPHVEIL_WITNESS  where a second record is kept of how far the books have come; without it, another folder of the user's
"""

from __future__ import annotations

import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Environment:
    """The folder in which graphs are looked for, and the one in which graphs and results are kept."""

    data: Path | None
    cache: Path


def settings() -> Environment:
    """Return the settings from the current environment."""
    return Environment(
        _folder("GRAPHVEIL_DATA"), _folder("GRAPHVEIL_CACHE") or _user_folder("cache") / "graphveil"
    )


def _folder(variable: str) -> Path | None:
    value = os.environ.get(variable, "")
    return Path(value).expanduser() if value else None


def _user_folder(kind: str) -> Path:
    """Return the folder that the platform keeps for this user's cache, data, or state that must not be restored with the data."""
    if sys.platform == "win32":
        if kind == "state":
            return _folder("APPDATA") or Path.home() / "AppData" / "Roaming"
        return _folder("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        # Time Machine leaves caches out of its backups.
        return Path.home() / "Library" / ("Application Support" if kind == "data" else "Caches")
    defaults = {"cache": ".cache", "data": ".local/share", "state": ".local/state"}
    return _folder(f"XDG_{kind.upper()}_HOME") or Path.home() / defaults[kind]


def device_file() -> Path:
    """Return the default file of the books of this user's device."""
    return (_folder("GRAPHVEIL_STATE") or _user_folder("data") / "graphveil") / "device.sqlite"


def witness_folder() -> Path:
    """Return the folder in which this user's programs remember how far the books of devices have come.

    Restoring a backup of the books must not touch it, so it is never in their folder.
    """
    return _folder("GRAPHVEIL_WITNESS") or _state_folder() / "witnesses"


def _state_folder() -> Path:
    return _user_folder("state") / ("graphveil-state" if sys.platform == "darwin" else "graphveil")


def former_witness_folders() -> tuple[Path, ...]:
    """Return the folders that may still hold witnesses.

    These are the folders beside the books, where earlier versions kept them, and the one used without
    GRAPHVEIL_WITNESS.
    """
    named = _folder("GRAPHVEIL_STATE")
    folders = (*(() if named is None else (named,)), _user_folder("data") / "graphveil", _state_folder())
    return tuple(folder / "witnesses" for folder in folders)


def usable_processors() -> int:
    """Return how many processors this process may use: those that it is bound to, or fewer where its group has a quota."""
    bound = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, min(bound, int(quota) // int(period)))
    except (OSError, ValueError):
        return bound


def busy_processors() -> float:
    """Return how many processors others keep busy: the mean of the last minute, or those at this moment where they are fewer."""
    mean = os.getloadavg()[0]
    try:
        running = Path("/proc/loadavg").read_text(encoding="ascii").split()[3].partition("/")[0]
        return min(mean, max(int(running) - 1, 0))
    except (OSError, ValueError):
        return mean


def available_gigabytes() -> float:
    """Return the available memory of this machine in gigabytes."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024 / 1e9
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def peak_megabytes() -> float:
    """Return the peak memory of this process so far in megabytes.

    Linux counts into ru_maxrss what the process that started this one held, but not into VmHWM.
    """
    if sys.platform == "linux":
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / (1 << 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
