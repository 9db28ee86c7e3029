"""The collection's keys: Ed25519 by the `cryptography` library, and the secrets that people are given."""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from graphveil.errors import InputError

# Only the operator may read a key.
OWNER_ONLY = 0o600
SECRET_BYTES, PSEUDONYM_BYTES = 16, 16


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
        """32 bytes that follow from the key: see `derived_credentials`."""
        return HKDF(hashes.SHA256(), 32, salt=None, info=info).derive(self._private.private_bytes_raw())

    def write(self, file: Path) -> None:
        """Keep the key in a file that only its owner may read; one that is there is not overwritten."""
        content = self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        with open(descriptor, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(descriptor)

    @classmethod
    def read(cls, file: Path) -> SigningKey:
        """The key of a file."""
        try:
            private = load_pem_private_key(file.read_bytes(), password=None)
        except OSError as error:
            raise InputError(
                f"{file} cannot be read ({error.strerror}): it is the collection's key, restore it"
            ) from None
        except (ValueError, TypeError):
            raise InputError(f"{file} is no key: restore it from a backup") from None
        if not isinstance(private, Ed25519PrivateKey):
            raise InputError(f"{file} is no Ed25519 key: restore it from a backup")
        return cls(private)


def signature_holds(public: bytes, signature: bytes, data: bytes) -> bool:
    """Whether the holder of the key has signed this."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, data)
    except InvalidSignature:
        return False
    return True


def new_secret() -> bytes:
    """The secret of an invitation."""
    return secrets.token_bytes(SECRET_BYTES)


def new_pseudonym() -> bytes:
    """What a user is called in envelopes and exports."""
    return secrets.token_bytes(PSEUDONYM_BYTES)


def hashed(secret: bytes) -> bytes:
    """What is stored of a secret: nobody can guess one, so its SHA-256 tells nothing."""
    return hashlib.sha256(secret).digest()


def word(data: bytes) -> str:
    """Bytes in base64url, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
