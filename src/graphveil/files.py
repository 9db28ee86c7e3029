"""Files that somebody else may have written, and files that are written as a whole or not at all: text, arrays, limits of everything.

A file that is missing, damaged or too large is refused with an `InputError`. It names the file and says what to do, and never shows what
stands in the file, which may be private.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import stat
import tokenize
import tomllib
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from graphveil.checks import short
from graphveil.errors import InputError

# Bytes of a text file: a row of a million values, or levels of thirty million users.
MAX_TEXT = 1 << 26
# What a file of arrays or a table may take in memory unless the caller says otherwise. A limit relative to the file's size would be wrong,
# as zeros compress to a thousandth. The largest graphs in use take some 2.5 GB (Reddit: 232,965 users, 114,615,892 links).
MAX_GIGABYTES = 4.0
# A file that is larger than its limit may take so many times its own size.
MAX_RATIO = 4
# Arrays of an .npz file (a graph has about a dozen), and bytes of the header of one (numpy writes 128).
MAX_ARRAYS, MAX_HEADER = 1000, 10_000
# Suffixes of what is drawn, of pages, and of tables that need pyarrow.
FIGURES, PAGES, PARQUET = (".svg", ".png"), (".html",), ".parquet"


def read_text(path: Path, instead: str, *, missing: str = "", errors: str = "strict") -> str:
    """Return the text of a UTF-8 file.

    Parameters
    ----------
    instead
        Advice that ends errors, such as "name a file of levels".
    missing
        The whole error for a file that does not exist.
    errors
        The handling of invalid bytes, as in `bytes.decode`.
    """
    try:
        with open(regular(path), "rb") as file:
            content = file.read(MAX_TEXT + 1)
        if len(content) > MAX_TEXT:
            raise InputError(f"{path} is longer than {MAX_TEXT >> 20} MB, the most that is read: {instead}")
        return content.decode("utf-8-sig", errors)
    except OSError as error:
        if missing and isinstance(error, (FileNotFoundError, NotADirectoryError)):
            raise InputError(missing) from None
        raise unreadable(path, error, instead) from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text: {instead}") from None


def read_json(path: Path, instead: str, missing: str = "") -> Any:
    """Return the value in a JSON file.

    Parameters
    ----------
    path
        The file.
    instead
        Advice that ends errors, such as "name a file of settings".
    missing
        The whole error for a file that does not exist.
    """
    return _parsed(path, "JSON", json.loads, instead, missing)


def read_toml(path: Path, instead: str, missing: str = "") -> dict[str, Any]:
    """Return the table in a TOML file.

    Parameters
    ----------
    path
        The file.
    instead
        Advice that ends errors.
    missing
        The whole error for a file that does not exist.
    """
    table: dict[str, Any] = _parsed(path, "TOML", tomllib.loads, instead, missing)
    return table


def regular(path: Path) -> Path:
    """Return the path of a file to open; raise OSError for a pipe or a device, which may have no end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file")
    return path


def memory_limit(path: Path, least: float | None = None) -> float:
    """Return how many gigabytes a file may take in memory: ``least`` (those of any file), or more where the file itself is large."""
    least = MAX_GIGABYTES if least is None else least
    try:
        return max(least, MAX_RATIO * path.stat().st_size / 1e9)
    except OSError:
        return least


def unreadable(path: Path, error: OSError, instead: str) -> InputError:
    """Return the error for a file that the operating system cannot read.

    Parameters
    ----------
    path
        The file.
    error
        The error of the operating system.
    instead
        Advice that ends the error.
    """
    return InputError(f"{path} cannot be read ({error.strerror or type(error).__name__}): {instead}")


def _parsed(path: Path, form: str, parse: Callable[[str], Any], instead: str, missing: str) -> Any:
    text = read_text(path, instead, missing=missing)
    try:
        return parse(text)
    except json.JSONDecodeError as error:
        reason = f"line {error.lineno}, column {error.colno}"
    except tomllib.TOMLDecodeError as error:
        # The sentence of the parser names the place, and may quote a key.
        reason = str(error)
    except RecursionError:
        reason = "it is nested too deep"
    except ValueError:
        reason = "it has a number that is too long"
    raise InputError(f"{path} is not {form} ({reason}): {instead}")


def check_output(file: Path, formats: Sequence[str] = (), option: str = "") -> Path:
    """Return a file that is to be written; reject it before anything is computed if it could not be written.

    Parameters
    ----------
    formats
        The suffixes it may have; any if empty.
    option
        The command-line option that names the file, for errors.
    """
    by = f" with {option}" if option else ""
    if formats:
        check_format(file, formats, option)
    if not file.parent.is_dir():
        raise InputError(f"{file.parent} is not a folder: name a file in an existing folder{by}")
    if file.is_dir():
        raise InputError(f"{file} is a folder: name a file in it{by}")
    if not os.access(file.parent, os.W_OK):
        raise InputError(f"{file.parent} is write-protected: name a file in another folder{by}")
    return file


def check_format(file: Path, formats: Sequence[str], option: str = "") -> Path:
    """Return a file whose suffix is one of ``formats``; reject others, and Parquet if pyarrow is missing.

    Parameters
    ----------
    file
        The file.
    formats
        The suffixes it may have.
    option
        The command-line option that names the file, for errors.

    >>> check_format(Path("town.jpg"), FIGURES)
    Traceback (most recent call last):
    graphveil.errors.InputError: town.jpg has the unsupported format .jpg: use .svg or .png
    """
    by = f" with {option}" if option else ""
    if file.suffix not in formats:
        found = f"the unsupported format {file.suffix}" if file.suffix else "no format"
        raise InputError(f"{file} has {found}: use {_either(formats)}{by}")
    if file.suffix == PARQUET and find_spec("pyarrow") is None:
        others = _either([suffix for suffix in formats if suffix != PARQUET])
        raise InputError(
            f"{file} needs pyarrow, which is not installed: pip install 'graphveil[parquet]'"
            + (f", or use {others}{by}" if others else "")
        )
    return file


def _either(names: Sequence[str]) -> str:
    *first, last = names or [""]
    return f"{', '.join(first)} or {last}" if first else last


def write_whole(file: Path, content: str | bytes) -> None:
    """Write a file atomically; text is written as UTF-8."""
    with writing_whole(file) as whole:
        whole.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def writing_whole(file: Path) -> Iterator[IO[bytes]]:
    """Write beside the file and rename, so that the old content stays until the new one is complete."""
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as whole:
            yield whole
            whole.flush()
            # The name must not be on the disk before the content is.
            os.fsync(whole.fileno())
        os.replace(part, file)
    except OSError as error:
        raise InputError(
            f"{file} cannot be written ({error.strerror or error}): name another file, or make room"
        ) from None
    finally:
        part.unlink(missing_ok=True)


def toml_value(value: Any) -> str:
    """Return a number, boolean, string or list as TOML.

    >>> [toml_value(value) for value in (1, 1e-05, True, "selu", (0.0, 1.0))]
    ['1', '1e-05', 'true', '"selu"', '[0.0, 1.0]']
    """
    if isinstance(value, float):
        return repr(value)
    # The one letter that JSON lets stand and TOML does not.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


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


def read_array(path: Path, what: str, instead: str, max_gigabytes: float = MAX_GIGABYTES) -> NDArray[Any]:
    """Return the array of an .npy file; reject a file that is damaged or too large.

    Parameters
    ----------
    what
        The content that the file should have, for errors.
    instead
        Advice that ends errors.
    max_gigabytes
        The most memory that the array may take.
    """
    with readable(path, what, instead, ARRAY), open(regular(path), "rb") as stream:
        size = array_memory(stream, path, path.name, what, os.fstat(stream.fileno()).st_size)
        check_gigabytes(path, size, max_gigabytes, instead)
        stream.seek(0)
        return _checked(npy.read_array(stream, allow_pickle=False))


def read_arrays(
    path: Path, max_gigabytes: float = MAX_GIGABYTES, what: str = GRAPH, instead: str = AGAIN
) -> dict[str, NDArray[Any]]:
    """Return all arrays of an .npz file; reject a file that is damaged or too large.

    Parameters
    ----------
    max_gigabytes
        The most memory that the arrays may take together.
    what
        The content that the file should have, for errors.
    instead
        Advice that ends errors.
    """
    with readable(path, what, instead), open(regular(path), "rb") as opened, zipfile.ZipFile(opened) as file:
        members = array_members(file, path, max_gigabytes, what, TRUST if what == GRAPH else instead)
        return {key: unpack(file, member) for key, member in members.items()}


@contextmanager
def readable(path: Path, what: str = GRAPH, instead: str = AGAIN, form: str = ARCHIVE) -> Iterator[None]:
    """Turn any error of reading a file inside the block into an `InputError` with one sentence.

    Parameters
    ----------
    what
        The content that the file should have.
    instead
        Advice that ends the error.
    form
        The suffix that the file should have.
    """
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
    """Raise an error if a file needs too much memory.

    Parameters
    ----------
    path
        The file, for the error.
    size
        The memory that it needs, in bytes.
    max_gigabytes
        The most that it may need.
    instead
        Advice that ends the error.
    """
    if size > max_gigabytes * 1e9:
        raise InputError(
            f"{path} asks for {size / 1e9:.3g} GB of memory, more than the {max_gigabytes:.3g} GB that a file may take: "
            f"{instead}"
        )


def array_members(
    file: zipfile.ZipFile, path: Path, max_gigabytes: float, what: str = GRAPH, instead: str = TRUST
) -> Mapping[str, zipfile.ZipInfo]:
    """Return the arrays of an archive by name; reject one whose arrays take too much memory together.

    Parameters
    ----------
    path
        The path of the archive, for errors.
    max_gigabytes
        The most memory that the arrays may take together.
    what
        The content that the file should have, for errors.
    instead
        Advice that ends errors.
    """
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
            size += array_memory(stream, path, member.filename, what, member.file_size)
        # One after the other: the sum of all that were read so far.
        check_gigabytes(path, size, max_gigabytes, instead)
        members[key] = member
    return members


def array_memory(stream: IO[bytes], path: Path, name: str, what: str, length: int) -> int:
    """Return how many bytes an array counts against a limit, by its header; reject a header that does not fit the array's length.

    Parameters
    ----------
    stream
        The array from its first byte.
    path, name, what
        The file, the array, and the content that the file should have, for errors.
    length
        The number of bytes of the array with its header.
    """
    # numpy would read a header of any length before it looks at the length.
    head = io.BytesIO(stream.read(npy.MAGIC_LEN + 4 + MAX_HEADER))
    version = npy.read_magic(head)
    width, read = (2, npy.read_array_header_1_0) if version == (1, 0) else (4, npy.read_array_header_2_0)
    if int.from_bytes(head.read(width), "little") > MAX_HEADER:
        raise InputError(f"{path}: the header of {name} is too long: write the file with numpy")
    head.seek(npy.MAGIC_LEN)
    shape, _, dtype = read(head)
    if dtype.kind not in KINDS or dtype.itemsize == 0:
        raise InputError(
            f"{path}: {name.removesuffix(ARRAY)} is not {what}'s array: it must hold numbers, booleans or words, got {dtype.name}"
        )
    if any(type(side) is not int or side < 0 for side in shape):
        raise InputError(f"{path}: the shape of {name} must be of integers of at least 0")
    size = math.prod(shape) * dtype.itemsize
    if head.tell() + size != length:
        raise InputError(
            f"{path}: {name} should hold {short(size)} bytes and holds {length - head.tell()}: it is damaged, get it again"
        )
    # An array with a dimension of 0 has no bytes however many rows it claims, so its rows count instead.
    return max(size, *shape) if shape else size


def unpack(file: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Return one array of an archive."""
    with file.open(member) as stream:
        array = npy.read_array(stream, allow_pickle=False)
        # Only the end of the stream is compared with its checksum.
        stream.read(1)
    return _checked(array)


def _checked(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array; raise ValueError for text whose numbers are no letters, which would be a SystemError wherever it is used."""
    if array.dtype.kind == "U":
        letters = np.ascontiguousarray(array).reshape(-1).view(f"{array.dtype.byteorder}u4")
        if ((letters > MAX_LETTER) | ((letters >= 0xD800) & (letters < 0xE000))).any():
            raise ValueError("no letters")
    return array
