"""Arrays of an .npz file read some rows at a time, so that a file larger than memory can be sharded."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.files import GRAPH, MAX_GIGABYTES, Header, array_members, read_header, readable, unpack

Array = NDArray[Any]


class NpzStream(AbstractContextManager["NpzStream"]):
    """An open .npz file; sizes of all arrays were compared with their headers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with readable(path):
            self._file = zipfile.ZipFile(path)
            self._members = array_members(self._file, path, float("inf"))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def __contains__(self, key: str) -> bool:
        return key in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def whole(self, key: str) -> Array:
        """One array, all of it."""
        if (size := self.facts(key).memory) > MAX_GIGABYTES * 1e9:
            raise InputError(
                f"{self.path}: {key} takes {size / 1e9:.3g} GB, and at most {MAX_GIGABYTES:g} GB of one array are held in memory: save it in "
                "a smaller type"
            )
        with readable(self.path):
            return unpack(self._file, self._members[key])

    def facts(self, key: str) -> Header:
        """What the header of an array says."""
        stream, header = self._open(key)
        stream.close()
        return header

    def rows(self, key: str, step: int) -> Iterator[Array]:
        """An array, so many rows at a time; a matrix that is stored column after column is read column by column."""
        stream, header = self._open(key)
        shape, kind = header.shape, header.dtype
        if header.by_columns and len(shape) == 2:
            stream.close()
            yield from self._by_columns(key, shape, kind, step)
            return
        width = int(np.prod(shape[1:], dtype=np.int64))
        with stream:
            for begin in range(0, shape[0], step):
                count = min(step, shape[0] - begin)
                yield self._values(stream, kind, count * width).reshape(count, *shape[1:])

    def slices(self, key: str, lengths: Iterator[int]) -> Iterator[Array]:
        """A vector in pieces of these lengths, one after the other."""
        stream, header = self._open(key)
        with stream:
            for length in lengths:
                yield self._values(stream, header.dtype, length)

    def _by_columns(
        self, key: str, shape: tuple[int, ...], kind: np.dtype[Any], step: int
    ) -> Iterator[Array]:
        """Rows put together from one stream for each column."""
        if shape[1] > 2:
            raise InputError(
                f"{self.path}: {key} is stored column after column, and is too large to be turned: save numpy.ascontiguousarray({key})"
            )
        streams = []
        for column in range(shape[1]):
            stream, _ = self._open(key)
            with readable(self.path):
                stream.seek(stream.tell() + column * shape[0] * kind.itemsize)
            streams.append(stream)
        for begin in range(0, shape[0], step):
            count = min(step, shape[0] - begin)
            yield np.stack([self._values(stream, kind, count) for stream in streams], axis=1)
        for stream in streams:
            stream.close()

    def _open(self, key: str) -> tuple[IO[bytes], Header]:
        """A stream of the values of an array, and what its header says."""
        with readable(self.path):
            member = self._members[key]
            stream = self._file.open(member)
            return stream, read_header(stream, self.path, member.filename, GRAPH, member.file_size)

    def _values(self, stream: IO[bytes], kind: np.dtype[Any], count: int) -> Array:
        with readable(self.path):
            content = stream.read(count * kind.itemsize)
        if len(content) != count * kind.itemsize:
            raise InputError(f"{self.path} is damaged: an array ends too early; get it again")
        return np.frombuffer(content, dtype=kind)
