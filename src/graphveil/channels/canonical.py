"""Canonical bytes: the same for the same thing in any language, so that their digest is a name for it.

The form is JSON in ASCII with sorted keys and no white space. Integers are written in full. A float is a string, "f" and
the sixteen hexadecimal digits of its IEEE-754 double, highest byte first. A large array is an object: its type ("<i8" or
"<f8", little-endian), its shape, and the SHA-256 of its bytes, row after row. docs/wire-format.md has examples.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import numpy as np

ARRAYS = {"i": "<i8", "f": "<f8"}


def canonical(thing: Any) -> bytes:
    """The canonical bytes of numbers, words, true and false, null, arrays, and of lists and dictionaries of them.

    >>> canonical({"b": [1, True], "a": 0.5})
    b'{"a":"f3fe0000000000000","b":[1,true]}'
    """
    return json.dumps(_plain(thing), sort_keys=True, separators=(",", ":")).encode("ascii")


def digest(thing: Any) -> str:
    """The SHA-256 of the canonical bytes: 64 hexadecimal digits."""
    return hashlib.sha256(canonical(thing)).hexdigest()


def _plain(thing: Any) -> Any:
    if isinstance(thing, np.ndarray):
        kind = ARRAYS[thing.dtype.kind]
        data = np.ascontiguousarray(thing, dtype=kind).tobytes()
        return {"sha256": hashlib.sha256(data).hexdigest(), "shape": list(thing.shape), "type": kind}
    if isinstance(thing, (float, np.floating)):
        return "f" + struct.pack(">d", float(thing)).hex()
    if isinstance(thing, np.integer):
        return int(thing)
    if isinstance(thing, dict):
        return {str(key): _plain(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [_plain(value) for value in thing]
    return thing
