"""Arrays from .npy and .npz files that somebody else may have written: the one reader of numpy's files.

Nothing is unpickled. Headers are compared with the sizes that the file states before anything is allocated, and an archive is never unpacked
further than it states. Errors do not show what a file holds: a row of a user is private.
"""

from __future__ import annotations

import io
import math
import os
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from graphveil.checks import short
from graphveil.errors import InputError
from graphveil.files import MAX_ARRAYS, MAX_GIGABYTES, MAX_HEADER, regular, unreadable

# Booleans, integers, numbers and words; nothing that would have to be unpickled.
KINDS = "biufU"
# The last letter of Unicode; those from 0xD800 to 0xDFFF are halves of letters.
MAX_LETTER = 0x10FFFF
ARRAY, ARCHIVE = ".npy", ".npz"
# What numpy writes. Other methods of packing unpack without a limit.
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
GRAPH = "a graph"
AGAIN = "get it again, or write it with numpy"
TRUST = "if you trust it, raise max_gigabytes (--set data.max_gigabytes=… on the command line)"
# Whatever zipfile, its decompressor and numpy raise at a damaged file, or warn of.
DAMAGED = (
    *(ValueError, EOFError, KeyError, TypeError, SyntaxError, OverflowError, RecursionError, MemoryError),
    *(RuntimeError, zipfile.BadZipFile, zlib.error, tokenize.TokenError, Warning),
)


@dataclass(frozen=True)
class Header:
    """What an array's header says: ``by_columns`` where it is stored column after column."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """How many bytes the values take."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def memory(self) -> int:
        """How many bytes count against a limit: a dimension of 0 makes any other one free, so rows are counted all the same."""
        return max(self.size, *self.shape) if self.shape else self.size


def read_array(path: Path, what: str, instead: str, max_gigabytes: float = MAX_GIGABYTES) -> NDArray[Any]:
    """Return the array of an .npy file; one that is damaged, or asks for more memory than that, is refused.

    ``what`` says in errors what the file should hold, ``instead`` what to do where it does not.
    """
    with readable(path, what, instead, ARRAY), open(regular(path), "rb") as stream:
        header = read_header(stream, path, path.name, what, os.fstat(stream.fileno()).st_size)
        check_gigabytes(path, header.memory, max_gigabytes, instead)
        stream.seek(0)
        return _checked(npy.read_array(stream, allow_pickle=False))


def read_arrays(
    path: Path, max_gigabytes: float = MAX_GIGABYTES, what: str = GRAPH, instead: str = AGAIN
) -> dict[str, NDArray[Any]]:
    """Return all arrays of an .npz file; one that is damaged, or asks for more memory than that, is refused."""
    with readable(path, what, instead), open(regular(path), "rb") as opened, zipfile.ZipFile(opened) as file:
        members = array_members(file, path, max_gigabytes, what, TRUST if what == GRAPH else instead)
        return {key: unpack(file, member) for key, member in members.items()}


@contextmanager
def readable(path: Path, what: str = GRAPH, instead: str = AGAIN, form: str = ARCHIVE) -> Iterator[None]:
    """Turn whatever is wrong with a file that is read meanwhile into a sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {path}: give the path of an {form} file") from None
    except OSError as error:
        raise unreadable(path, error, f"give the path of an {form} file") from None
    except DAMAGED:
        raise InputError(f"{path} is not {what} in an {form} file, or is damaged: {instead}") from None


def check_gigabytes(path: Path, size: float, max_gigabytes: float, instead: str = TRUST) -> None:
    """Refuse what would take more memory than the caller allows."""
    if size > max_gigabytes * 1e9:
        raise InputError(
            f"{path} asks for {size / 1e9:.3g} GB of memory, more than the {max_gigabytes:.3g} GB that a file may take: "
            f"{instead}"
        )


def array_members(
    file: zipfile.ZipFile, path: Path, max_gigabytes: float, what: str = GRAPH, instead: str = TRUST
) -> Mapping[str, zipfile.ZipInfo]:
    """Return the arrays of a file by their names, all of which fit into memory together."""
    listed = file.infolist()
    if len(listed) > MAX_ARRAYS:
        raise InputError(
            f"{path} holds {len(listed)} arrays, {what} at most {MAX_ARRAYS}: leave out the others"
        )
    members: dict[str, zipfile.ZipInfo] = {}
    size = 0
    for member in listed:
        key = member.filename.removesuffix(ARRAY)
        if key in members:
            raise InputError(f"{path} holds {key!r} twice: leave one of them out")
        if member.compress_type not in PACKED:
            raise InputError(
                f"{path}: {member.filename} is packed as numpy does not: write the file with numpy.savez_compressed"
            )
        with file.open(member) as stream:
            header = read_header(stream, path, member.filename, what, member.file_size)
        size += header.memory
        # One after the other: the sum of all that were read so far.
        check_gigabytes(path, size, max_gigabytes, instead)
        members[key] = member
    return members


def read_header(stream: IO[bytes], path: Path, name: str, what: str, length: int) -> Header:
    """Return what the header of an array says; one that does not fit the ``length`` of the array with its header is refused."""
    magic = stream.read(npy.MAGIC_LEN)
    version = npy.read_magic(io.BytesIO(magic))
    width = 2 if version == (1, 0) else 4
    told = stream.read(width)
    # numpy would read a header of any length before it looks at the length.
    if int.from_bytes(told, "little") > MAX_HEADER:
        raise InputError(f"{path}: the header of {name} is too long: write the file with numpy")
    text = told + stream.read(int.from_bytes(told, "little"))
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    header = Header(*read(io.BytesIO(text)))
    if header.dtype.kind not in KINDS or header.dtype.itemsize == 0:
        raise InputError(
            f"{path}: {name.removesuffix(ARRAY)} is not {what}'s array: it must hold numbers, booleans or words, "
            f"got {header.dtype.name}"
        )
    if any(type(side) is not int or side < 0 for side in header.shape):
        raise InputError(f"{path}: the shape of {name} must be of integers of at least 0")
    if len(magic) + len(text) + header.size != length:
        raise InputError(
            f"{path}: {name} should hold {short(header.size)} bytes and holds {length - len(magic) - len(text)}: it is damaged, get it again"
        )
    return header


def unpack(file: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Return one array of an archive as a whole."""
    with file.open(member) as stream:
        array = npy.read_array(stream, allow_pickle=False)
        # Only the end of the stream is compared with its checksum.
        stream.read(1)
    return _checked(array)


def _checked(array: NDArray[Any]) -> NDArray[Any]:
    """The same array; words of numbers that are no letters are a ValueError here, and would be a SystemError wherever they are used."""
    if array.dtype.kind == "U":
        letters = np.ascontiguousarray(array).reshape(-1).view(f"{array.dtype.byteorder}u4")
        if ((letters > MAX_LETTER) | ((letters >= 0xD800) & (letters < 0xE000))).any():
            raise ValueError("no letters")
    return array
