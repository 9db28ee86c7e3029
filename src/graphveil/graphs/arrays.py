"""Arrays from an .npz file that somebody else may have written: sizes are read and checked before anything is allocated."""

from __future__ import annotations

import io
import lzma
import math
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from graphveil.errors import InputError

# What the arrays of a file may take in memory unless the caller says otherwise. A limit relative to the file's size would be
# wrong, as zeros compress to a thousandth. The largest graphs in use take some 2.5 GB (Reddit: 232,965 users, 114,615,892 links).
MAX_GIGABYTES = 4.0
# A graph has about a dozen arrays, and the header of one takes 128 bytes.
MAX_ARRAYS, MAX_HEADER = 1000, 10_000
# Booleans, integers, numbers and words; nothing that would have to be unpickled.
KINDS = "biufU"
SUFFIX = ".npy"
# Whatever zipfile, its decompressors and numpy raise at a damaged file, or warn of.
DAMAGED = (
    *(
        OSError,
        ValueError,
        EOFError,
        KeyError,
        TypeError,
        SyntaxError,
        OverflowError,
        RecursionError,
        MemoryError,
    ),
    *(RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, tokenize.TokenError, Warning),
)


def read_arrays(
    path: Path, max_gigabytes: float = MAX_GIGABYTES, what: str = "a graph"
) -> dict[str, NDArray[Any]]:
    """All arrays of a file; one that is damaged, or asks for more memory than that, is refused.

    ``what`` says in errors what the file should hold.
    """
    with readable(path, what), open(path, "rb") as opened, zipfile.ZipFile(opened) as file:
        members = array_members(file, path, max_gigabytes, what)
        return {key: read_array(file, member) for key, member in members.items()}


@contextmanager
def readable(path: Path, what: str = "a graph") -> Iterator[None]:
    """Whatever is wrong with an .npz file that is read meanwhile is said in a sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {path}: give the path of an .npz file") from None
    except DAMAGED as error:
        reason = str(error) or type(error).__name__
        raise InputError(
            f"{path} is not {what} in an .npz file, or is damaged ({reason}): get it again, or write it with numpy.savez"
        ) from None


def check_gigabytes(path: Path, size: float, max_gigabytes: float) -> None:
    """Refuse what would take more memory than the caller allows."""
    if size > max_gigabytes * 1e9:
        raise InputError(
            f"{path} asks for {size / 1e9:.3g} GB of memory, more than the {max_gigabytes:g} GB that a file may take: if you "
            "trust it, raise max_gigabytes (--set data.max_gigabytes=… on the command line)"
        )


def array_members(
    file: zipfile.ZipFile, path: Path, max_gigabytes: float, what: str
) -> Mapping[str, zipfile.ZipInfo]:
    """The arrays of a file by their names, all of which fit into memory together."""
    listed = file.infolist()
    if len(listed) > MAX_ARRAYS:
        raise InputError(
            f"{path} holds {len(listed)} arrays, {what} at most {MAX_ARRAYS}: leave out the others"
        )
    members: dict[str, zipfile.ZipInfo] = {}
    size = 0
    for member in listed:
        key = member.filename.removesuffix(SUFFIX)
        if key in members:
            raise InputError(f"{path} holds {key!r} twice: leave one of them out")
        with file.open(member) as stream:
            taken = _size(stream, member, path, what)
        size += taken
        # One after the other: the sum of all that were read so far.
        check_gigabytes(path, size, max_gigabytes)
        members[key] = member
    return members


def _size(stream: IO[bytes], member: zipfile.ZipInfo, path: Path, what: str) -> int:
    """How many bytes an array takes, from its header; one whose length does not fit its header is refused."""
    magic = stream.read(npy.MAGIC_LEN)
    version = npy.read_magic(io.BytesIO(magic))
    width = 2 if version == (1, 0) else 4
    length = stream.read(width)
    # numpy would read a header of any length before it looks at the length.
    if int.from_bytes(length, "little") > MAX_HEADER:
        raise InputError(
            f"{path}: the header of {member.filename} is too long: write the file with numpy.savez"
        )
    header = length + stream.read(int.from_bytes(length, "little"))
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(io.BytesIO(header))
    if dtype.kind not in KINDS or dtype.itemsize == 0:
        raise InputError(
            f"{path}: {member.filename.removesuffix(SUFFIX)} is not {what}'s array: it must hold numbers, booleans or words, "
            f"got {dtype}"
        )
    if any(not isinstance(side, int) or side < 0 for side in shape):
        raise InputError(f"{path}: the shape of {member.filename} must be of integers of at least 0")
    size = math.prod(shape) * dtype.itemsize
    if len(magic) + len(header) + size != member.file_size:
        raise InputError(
            f"{path}: {member.filename} should hold {size} bytes and holds {member.file_size}: it is damaged, get it again"
        )
    # A dimension of 0 makes any other one free; rows are counted all the same.
    return max(size, *shape) if shape else size


def read_array(file: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """One array as a whole."""
    with file.open(member) as stream:
        array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
        # Only the end of the stream is compared with its checksum.
        stream.read(1)
    return array
