"""Text files that somebody else may have written, files that are written as a whole or not at all, and the limits of everything that is read from files.

A file that is missing, damaged or too large is refused with an `InputError`. It names the file and says what to do, and never shows what
stands in the file, which may be private.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

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
PARQUET = ".parquet"


def read_text(path: Path, instead: str, *, missing: str = "", errors: str = "strict") -> str:
    """Return a file's text in UTF-8.

    ``instead`` says in errors what to do ("name a file of levels"), ``missing`` is all that is said of a file that is not there.
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
    """Return the value in a JSON file."""
    return _parsed(path, "JSON", json.loads, instead, missing)


def read_toml(path: Path, instead: str, missing: str = "") -> dict[str, Any]:
    """Return the table in a TOML file."""
    table: dict[str, Any] = _parsed(path, "TOML", tomllib.loads, instead, missing)
    return table


def regular(path: Path) -> Path:
    """Return the path of a file to open; an OSError where it is a pipe or a device, which may have no end."""
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
    """Return the refusal of a file that the system does not let us read."""
    return InputError(f"{path} cannot be read ({error.strerror or type(error).__name__}): {instead}")


def _parsed(path: Path, form: str, parse: Callable[[str], Any], instead: str, missing: str) -> Any:
    text = read_text(path, instead, missing=missing)
    try:
        return parse(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} is not JSON (line {error.lineno}, column {error.colno}): {instead}"
        ) from None
    except tomllib.TOMLDecodeError as error:
        # The sentence of the parser names the place, and may quote a key.
        raise InputError(f"{path} is not TOML ({error}): {instead}") from None
    except RecursionError:
        raise InputError(f"{path} is not {form} that can be read, it is nested too deep: {instead}") from None
    except ValueError:
        raise InputError(
            f"{path} is not {form} that can be read, it has a number that is too long: {instead}"
        ) from None


def check_format(file: Path, what: str, suffixes: Sequence[str]) -> Path:
    """Return a file whose name ends in one of the suffixes, of which .parquet needs pyarrow; reject any other.

    ``what`` it is in errors: "file of predictions".
    """
    if file.suffix not in suffixes:
        raise InputError(f"{file} is no {what}: name one that ends in {' or '.join(suffixes)}")
    if file.suffix == PARQUET and find_spec("pyarrow") is None:
        others = " or ".join(suffix for suffix in suffixes if suffix != PARQUET)
        raise InputError(
            f"{file} needs pyarrow, which is not installed: pip install 'graphveil[parquet]', or name a file that ends in {others}"
        )
    return file


def check_output(file: Path, what: str, suffixes: Sequence[str]) -> Path:
    """Return a file of a format that can be written; reject any other before something is computed for it."""
    check_format(file, what, suffixes)
    if not file.parent.is_dir():
        raise InputError(f"{file.parent} is not a folder: name a file in a folder that is there")
    if file.is_dir():
        raise InputError(f"{file} is a folder: name a file")
    if not os.access(file.parent, os.W_OK):
        raise InputError(f"{file.parent} may not be written to: name a file in another folder")
    return file


def write_whole(file: Path, content: bytes) -> None:
    """Write a file at once."""
    with writing_whole(file) as whole:
        whole.write(content)


@contextmanager
def writing_whole(file: Path) -> Iterator[IO[bytes]]:
    """Write beside the file and rename: what was there before is there until all of the new one is."""
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
    """Return a number, a truth, a text or a list as TOML has it.

    >>> [toml_value(value) for value in (1, 1e-05, True, "selu", (0.0, 1.0))]
    ['1', '1e-05', 'true', '"selu"', '[0.0, 1.0]']
    """
    if isinstance(value, float):
        return repr(value)
    # The one letter that JSON lets stand and TOML does not.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
