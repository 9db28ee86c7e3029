"""Arrays of an .npz file read some rows at a time, so that a file larger than memory can be sharded."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.arrays import array_members, read_array, readable

Array = NDArray[Any]


class NpzStream(AbstractContextManager["NpzStream"]):
    """An open .npz file; sizes of all arrays were compared with their headers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with readable(path):
            self._file = zipfile.ZipFile(path)
            self._members = array_members(self._file, path, float("inf"), "a graph")

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
        with readable(self.path):
            return read_array(self._file, self._members[key])

    def facts(self, key: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and type of an array, from its header."""
        with readable(self.path), self._file.open(self._members[key]) as stream:
            shape, _, kind = _header(stream)
        return shape, kind

    def rows(self, key: str, step: int) -> Iterator[Array]:
        """An array, so many rows at a time; a matrix that is stored column after column is read column by column."""
        with readable(self.path):
            stream = self._file.open(self._members[key])
            shape, by_columns, kind = _header(stream)
        if by_columns and len(shape) == 2:
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
        with readable(self.path):
            stream = self._file.open(self._members[key])
            _, _, kind = _header(stream)
        with stream:
            for length in lengths:
                yield self._values(stream, kind, length)

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
            with readable(self.path):
                stream = self._file.open(self._members[key])
                _header(stream)
                stream.seek(stream.tell() + column * shape[0] * kind.itemsize)
            streams.append(stream)
        for begin in range(0, shape[0], step):
            count = min(step, shape[0] - begin)
            yield np.stack([self._values(stream, kind, count) for stream in streams], axis=1)
        for stream in streams:
            stream.close()

    def _values(self, stream: IO[bytes], kind: np.dtype[Any], count: int) -> Array:
        with readable(self.path):
            content = stream.read(count * kind.itemsize)
        if len(content) != count * kind.itemsize:
            raise InputError(f"{self.path} is damaged: an array ends too early; get it again")
        return np.frombuffer(content, dtype=kind)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, by_columns, kind = read(stream)
    return shape, by_columns, kind
