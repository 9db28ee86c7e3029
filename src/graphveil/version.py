"""The version of the package, and the digest of its source."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

__version__ = "0.1.0"


PACKAGE = Path(__file__).parent


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Return the digest of the source that this process runs, read once at the first call."""
    return digest_of(PACKAGE)


def digest_of(folder: Path) -> str:
    """Return the SHA-256 of the names and contents of all code and settings (.py, .toml) below a folder, in the order of names."""
    found = (file for file in folder.rglob("*") if file.suffix in (".py", ".toml"))
    files = sorted((file.relative_to(folder).as_posix(), file) for file in found)
    whole = hashlib.sha256()
    for name, file in files:
        content = file.read_bytes()
        # Lengths keep apart what a name or a content could end or start with.
        whole.update(f"{len(name.encode())} {len(content)} {name}".encode())
        whole.update(content)
    return whole.hexdigest()
