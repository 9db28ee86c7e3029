"""A collection's key on the disk, and how it passes to another one: the key that goes signs the one that comes.

The first key is the file `key`, the one after n changes `key-n`. What counts is `successions.json`, the signed statements of all changes: it is replaced as
a whole, so a collection has the old key or the new one, whenever the power fails. Then the old key is deleted.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from graphveil.collect.folder import KEY, SETTINGS
from graphveil.collect.keys import OWNER_ONLY, SigningKey
from graphveil.errors import InputError, MessageError
from graphveil.privacy import SignedSuccession, Succession
from graphveil.privacy.succession import MAX_SUCCESSIONS

SUCCESSIONS = "successions.json"


class KeyRing:
    """The key of a folder's collection; one that was changed by another process is seen at the next look."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, Lock()
        self._state: tuple[tuple[int, int] | None, SigningKey, tuple[SignedSuccession, ...]] | None = None

    @property
    def key(self) -> SigningKey:
        """The key that signs questions."""
        return self._read()[0]

    @property
    def successions(self) -> tuple[SignedSuccession, ...]:
        """How it came about: all changes, in their order."""
        return self._read()[1]

    def _read(self) -> tuple[SigningKey, tuple[SignedSuccession, ...]]:
        stamp, state = _stamp(self._folder), self._state
        if state is None or state[0] != stamp:
            with self._lock:
                try:
                    state = self._state = stamp, *read_key(self._folder)
                except InputError:
                    # It may have passed on in between, and the old key be gone.
                    if _stamp(self._folder) == stamp:
                        raise
                    state = self._state = stamp, *read_key(self._folder)
        return state[1], state[2]


def read_key(folder: Path) -> tuple[SigningKey, tuple[SignedSuccession, ...]]:
    """The key that counts, and how it came about."""
    successions = read_successions(folder)
    file = key_file(folder, len(successions))
    key = SigningKey.read(file)
    if successions and successions[-1].statement.after != key.public:
        raise InputError(f"{file} is not the key that {SUCCESSIONS} ends with: restore both from one backup")
    return key, successions


def rotate_key(folder: Path, collection: str, now: float | None = None) -> Succession:
    """Make a new key, let the old one sign it over, and delete the old one; what was said.

    Nothing is renewed by it: devices keep their books, caps and answers.
    """
    with _alone(folder):
        before = read_successions(folder)
        number = 1 + len(before)
        if number > MAX_SUCCESSIONS:
            raise InputError(f"a key is changed at most {MAX_SUCCESSIONS} times: make another collection")
        old_file, new_file = key_file(folder, number - 1), key_file(folder, number)
        old, new = SigningKey.read(old_file), SigningKey.generate()
        # Left by a change that did not come to its end: no device has seen it.
        new_file.unlink(missing_ok=True)
        new.write(new_file)
        last = before[-1].statement.made if before else 0
        made = max(int(time.time() if now is None else now), last)
        told = Succession(collection, number, old.public, new.public, made)
        _write(folder, (*before, signed_over(told, old, new)))
        old_file.unlink()
        _sync(folder)
    return told


def signed_over(told: Succession, old: SigningKey, new: SigningKey) -> SignedSuccession:
    """A statement with both signatures."""
    unsigned = SignedSuccession(told.payload(), bytes(64), bytes(64))
    return SignedSuccession(unsigned.payload, old.sign(unsigned.signed), new.sign(unsigned.signed))


def key_file(folder: Path, number: int) -> Path:
    """The file of the key after so many changes."""
    return folder / (KEY if number == 0 else f"{KEY}-{number}")


def read_successions(folder: Path) -> tuple[SignedSuccession, ...]:
    """All changes of a folder's key; none where there is no file."""
    file = folder / SUCCESSIONS
    try:
        told = json.loads(file.read_bytes())
        return tuple(SignedSuccession.from_dict(each) for each in told)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}): see who may read it") from None
    except (ValueError, TypeError, RecursionError, MessageError):
        raise InputError(f"{file} is damaged: restore it from a backup, together with the key") from None


def _write(folder: Path, successions: tuple[SignedSuccession, ...]) -> None:
    """Replace the list as a whole; it is on the disk when this ends."""
    part = folder / f".{SUCCESSIONS}.part"
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with open(descriptor, "w", encoding="ascii") as file:
        json.dump([each.as_dict() for each in successions], file, indent=1)
        file.flush()
        os.fsync(descriptor)
    # The new key must be there before anything says that it counts.
    _sync(folder)
    os.replace(part, folder / SUCCESSIONS)
    _sync(folder)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _stamp(folder: Path) -> tuple[int, int] | None:
    """What changes with the list."""
    try:
        found = os.stat(folder / SUCCESSIONS)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nobody else changes the key meanwhile."""
    with open(folder / SETTINGS, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"the key of {folder} is being changed by somebody else: wait, and look at it again"
            ) from None
        yield
