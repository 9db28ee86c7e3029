"""Temporary folders that do not outlive their process for long: what a killed one has left, the next one removes."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "graphveil-"
# The process of a folder holds a lock on this file in it while it lives. The system takes the lock from a process that ends.
OWNER, COMING = "owner", "owner.part"
# A Ray whose command was killed takes a while to end, and may then make its folder anew, with nothing in it. One that was not touched for so
# many seconds is nobody's.
RAY, UNTOUCHED = "ray", 300.0


class Scratch:
    """A folder of this user alone, until it is removed; ``kind`` is part of its name."""

    def __init__(self, kind: str, place: str | None = None) -> None:
        home = Path(place or tempfile.gettempdir())
        remove_left(home)
        self.folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-", dir=home))
        # It has its name only when it is locked: until then nobody looks at it.
        self._lock = os.open(self.folder / COMING, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        os.rename(self.folder / COMING, self.folder / OWNER)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


@contextmanager
def scratch(kind: str) -> Iterator[Path]:
    """A folder that is gone afterwards."""
    temporary = Scratch(kind)
    try:
        yield temporary.folder
    finally:
        temporary.remove()


def remove_left(home: Path) -> None:
    """Remove the folders of this user whose processes are gone; those of others, and whatever else is there, are left."""
    for owner in home.glob(f"{PREFIX}*-*/{OWNER}"):
        with suppress(OSError):
            # A link would lead anywhere.
            lock = os.open(owner, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if os.fstat(lock).st_uid == os.getuid() and not owner.parent.is_symlink():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(owner.parent, ignore_errors=True)
            finally:
                os.close(lock)
    for husk in home.glob(f"{PREFIX}{RAY}-*"):
        with suppress(OSError):
            if not husk.is_symlink() and time.time() - husk.stat().st_mtime > UNTOUCHED:
                _remove_empty(husk)


def _remove_empty(folder: Path) -> None:
    """Remove a folder of folders in which there is no file; where there is one, it stays."""
    for path, _, _ in os.walk(folder, topdown=False):
        os.rmdir(path)
