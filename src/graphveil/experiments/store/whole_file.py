"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from graphveil.errors import InputError


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
