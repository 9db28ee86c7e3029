"""The collection's keys: Ed25519 by the `cryptography` library, on the disk, and how one passes to another; and the secrets that people are given.

The key that goes signs the one that comes. The first key is the file `key`, the one after n changes `key-n`. What counts is `successions.json`, the signed
statements of all changes: it is replaced as a whole, so a collection has the old key or the new one, whenever the power fails. Then the old key is deleted.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from graphveil.collect.folder import KEY, SETTINGS, write_new
from graphveil.errors import InputError, MessageError
from graphveil.privacy import SignedSuccession, Succession
from graphveil.privacy.succession import MAX_SUCCESSIONS

SECRET_BYTES, PSEUDONYM_BYTES = 16, 16

SUCCESSIONS = "successions.json"


class SigningKey:
    """Signs questions. Devices know its public half from their invitation."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public: bytes = private.public_key().public_bytes_raw()

    @classmethod
    def generate(cls) -> SigningKey:
        """A new key, from the operating system's generator."""
        return cls(Ed25519PrivateKey.generate())

    def sign(self, data: bytes) -> bytes:
        """64 bytes that only the holder of the key can make."""
        return self._private.sign(data)

    def derived(self, info: bytes) -> bytes:
        """32 bytes that follow from the key: see `roster.derived_holder`."""
        return HKDF(hashes.SHA256(), 32, salt=None, info=info).derive(self._private.private_bytes_raw())

    def write(self, file: Path) -> None:
        """Keep the key in a file that only its owner may read; one that is there is not overwritten."""
        write_new(file, self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

    @classmethod
    def read(cls, file: Path) -> SigningKey:
        """The key of a file."""
        try:
            private = load_pem_private_key(file.read_bytes(), password=None)
        except OSError as error:
            raise InputError(
                f"{file} cannot be read ({error.strerror}): restore the collection's key"
            ) from None
        except (ValueError, TypeError):
            raise InputError(f"{file} is no key: restore it from a backup") from None
        if not isinstance(private, Ed25519PrivateKey):
            raise InputError(f"{file} is no Ed25519 key: restore it from a backup")
        return cls(private)


def new_secret() -> bytes:
    """The secret of an invitation."""
    return secrets.token_bytes(SECRET_BYTES)


def new_pseudonym() -> bytes:
    """Return a new random pseudonym, which names a user in envelopes and exports."""
    return secrets.token_bytes(PSEUDONYM_BYTES)


def hashed(secret: bytes) -> bytes:
    """Return the SHA-256 of a secret, to be stored: secrets cannot be guessed, so it tells nothing."""
    return hashlib.sha256(secret).digest()


def word(data: bytes) -> str:
    """Bytes in base64url, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


class KeyRing:
    """The key of a folder's collection; one that was changed by another process is seen at the next look."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._keys = lru_cache(maxsize=1)(lambda stamp: read_key(folder))

    @property
    def key(self) -> SigningKey:
        """The key that signs questions."""
        return self._read()[0]

    @property
    def successions(self) -> tuple[SignedSuccession, ...]:
        """All changes of the key, in their order."""
        return self._read()[1]

    def _read(self) -> tuple[SigningKey, tuple[SignedSuccession, ...]]:
        stamp = _stamp(self._folder)
        try:
            return self._keys(stamp)
        except InputError:
            # It may have passed on in between, and the old key be gone.
            if _stamp(self._folder) == stamp:
                raise
        return self._keys(_stamp(self._folder))


def read_key(folder: Path) -> tuple[SigningKey, tuple[SignedSuccession, ...]]:
    """The key that counts, and how it came about."""
    successions = read_successions(folder)
    file = key_file(folder, len(successions))
    key = SigningKey.read(file)
    if successions and successions[-1].statement.after != key.public:
        raise InputError(f"{file} is not the key that {SUCCESSIONS} ends with: restore both from one backup")
    return key, successions


def rotate_key(folder: Path, collection: str, now: float | None = None) -> Succession:
    """Make a new key, sign it with the old one, delete the old one, and return the succession.

    Nothing is renewed by it: devices keep their books, caps and answers.

    Parameters
    ----------
    folder
        The collection's folder.
    collection
        The collection's id.
    now
        The time of the change, in seconds since 1970; None is the present.
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
        unsigned = SignedSuccession(told.payload(), bytes(64), bytes(64))
        signed = replace(unsigned, old=old.sign(unsigned.signed), new=new.sign(unsigned.signed))
        part = folder / f".{SUCCESSIONS}.part"
        part.unlink(missing_ok=True)
        write_new(part, json.dumps([each.as_dict() for each in (*before, signed)], indent=1).encode("ascii"))
        # The new key must be there before anything says that it counts.
        _sync(folder)
        os.replace(part, folder / SUCCESSIONS)
        _sync(folder)
        old_file.unlink()
        _sync(folder)
    return told


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


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _stamp(folder: Path) -> tuple[int, int] | None:
    """Return the change time and inode of the list of successions; None where there is none."""
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
            raise InputError(f"the key of {folder} is being changed by somebody else: wait") from None
        yield
