"""Checkpoints of trainings, and files of tensors: where a training was interrupted, it goes on from there."""

from __future__ import annotations

import os
import pickletools
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

from graphveil.errors import InputError
from graphveil.files import MAX_TEXT, regular, unreadable
from graphveil.graphs.collective import SINGLE_PROCESS, Collective

# Where the names come from that torch writes for tensors and dictionaries.
MODULES = ("collections", "torch", "torch._utils")


def read_tensors(file: Path, what: str, instead: str, device: str | None = None) -> Any:
    """Read dictionaries and lists of tensors, numbers and text, as they were saved.

    Parameters
    ----------
    what
        What the file should hold, for errors.
    instead
        What to do where it does not, for errors.
    device
        The device of the tensors; by default the one they were saved from.
    """
    try:
        with warnings.catch_warnings(), open(regular(file), "rb") as stream:
            warnings.simplefilter("ignore")
            _check_archive(stream)
            content = torch.load(stream, map_location=device, weights_only=True)
        _check_plain(content)
    except OSError as error:
        raise unreadable(file, error, instead) from None
    except Exception as error:
        # torch raises almost anything at a damaged file.
        kind = type(error).__name__
        raise InputError(f"{file} holds no {what}, or is damaged ({kind}): {instead}") from error
    return content


def _check_archive(stream: IO[bytes]) -> None:
    """Refuse an archive that is packed, states more bytes than it has, has a wrong checksum, or names anything but tensors.

    torch looks at none of the first three, and takes minutes over the message about a long name.
    """
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        stated = sum(member.file_size for member in members)
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("packed")
        if stated > os.fstat(stream.fileno()).st_size or archive.testzip() is not None:
            raise ValueError("damaged")
        (pickled,) = [member for member in members if member.filename.lower().endswith("/data.pkl")]
        if pickled.file_size > MAX_TEXT:
            raise ValueError("too long")
        for operation, argument, _ in pickletools.genops(archive.read(pickled)):
            if operation.name == "GLOBAL" and str(argument).partition(" ")[0] not in MODULES:
                raise ValueError("neither numbers nor text")
    stream.seek(0)


def _check_plain(content: Any) -> None:
    """Refuse anything but plain values and dense tensors, and tensors that are larger than what is stored of them."""
    seen: set[int] = set()
    waiting = [content]
    while waiting:
        each = waiting.pop()
        if isinstance(each, (dict, list, tuple)):
            if id(each) in seen:
                continue
            seen.add(id(each))
            waiting += [*each, *each.values()] if isinstance(each, dict) else each
        elif isinstance(each, Tensor):
            if each.layout != torch.strided or each.is_quantized or each.is_meta:
                raise ValueError("not dense")
            if each.numel() * each.element_size() > each.untyped_storage().nbytes():
                raise ValueError("larger than what is stored")
        elif not isinstance(each, (str, int, float, type(None))):
            raise TypeError(type(each).__name__)


# Of each training the last ones are kept: a worker may be lost while others have written the next.
KEPT = 2
NAME = re.compile(r"epoch-(\d+)\.pt")


class Checkpoints:
    """A folder of a run's trainings, numbered in the order in which they begin, with a file a worker and epoch.

    A method is computed again from its start, so that the same trainings come in the same order: those that had ended are read,
    and the one that was interrupted goes on from the last epoch that all workers have written. ``every`` so many epochs a
    checkpoint is written.
    """

    def __init__(self, folder: Path, every: int, collective: Collective = SINGLE_PROCESS) -> None:
        self.folder, self.every, self.collective = folder, every, collective
        self.begun = 0

    def training(self) -> Training:
        """The next training."""
        self.begun += 1
        folder = (
            self.folder
            / f"training-{self.begun}"
            / f"worker-{self.collective.rank}-of-{self.collective.size}"
        )
        folder.mkdir(parents=True, exist_ok=True)
        return Training(folder, self.every, self.collective)


@dataclass(frozen=True)
class Training:
    """One training of one worker."""

    folder: Path
    every: int
    collective: Collective

    def due(self, epoch: int) -> bool:
        """Return whether a checkpoint is written before this epoch."""
        return epoch > 0 and epoch % self.every == 0

    def save(self, epoch: int, state: dict[str, Any]) -> None:
        """Keep what the next epoch begins with; of earlier ones only the last."""
        _write(self.folder / f"epoch-{epoch}.pt", {**state, "random": torch.get_rng_state()})
        for old in self._epochs()[:-KEPT]:
            (self.folder / f"epoch-{old}.pt").unlink(missing_ok=True)

    def latest(self) -> tuple[int, dict[str, Any] | None]:
        """The last epoch that all workers have kept, and what this one kept of it; random numbers go on from there."""
        epoch = self._common()
        if epoch == 0:
            return 0, None
        state = self._read(self.folder / f"epoch-{epoch}.pt")
        with self.resuming():
            torch.set_rng_state(state.pop("random"))
        return epoch, state

    def finish(self, result: dict[str, Any]) -> None:
        """Keep what a training ended with: numbers and tensors by name."""
        _write(self.folder / "end.pt", {"result": result})
        for epoch in self._epochs():
            (self.folder / f"epoch-{epoch}.pt").unlink(missing_ok=True)

    def finished(self) -> dict[str, Any] | None:
        """The result of a training, if all workers have kept it."""
        file = self.folder / "end.pt"
        there = int(self.collective.sum(np.array([int(file.exists())]))[0])
        if there < self.collective.size:
            return None
        with self.resuming():
            result: dict[str, Any] = self._read(file)["result"]
            return result

    @contextmanager
    def resuming(self) -> Iterator[None]:
        """Refuse what was kept where it does not fit the training that would go on from it."""
        try:
            yield
        except InputError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError):
            raise InputError(f"{self.folder} holds no checkpoint of this training: {self._anew}") from None

    @property
    def _anew(self) -> str:
        return f"delete {self.folder.parent.parent}, and the same command begins anew"

    def _read(self, file: Path) -> dict[str, Any]:
        state: dict[str, Any] = read_tensors(file, "checkpoint", self._anew)
        return state

    def _epochs(self) -> list[int]:
        found = (NAME.fullmatch(file.name) for file in self.folder.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def _common(self) -> int:
        """The last epoch of which every worker has a file; 0 where there is none."""
        own = np.zeros((self.collective.size, KEPT + 1), dtype=np.int64)
        kept = self._epochs()[-KEPT - 1 :]
        own[self.collective.rank, : len(kept)] = kept
        everybody = self.collective.sum(own)
        return max((epoch for epoch in kept if (everybody == epoch).any(axis=1).all()), default=0)


def _write(file: Path, state: dict[str, Any]) -> None:
    """A file that is there as a whole, or not at all, even if others write the same: another process of the same command may, and may
    have removed the folder when it was done."""
    part = file.with_suffix(f".{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state, part)
        os.replace(part, file)
    except (OSError, RuntimeError) as error:
        with suppress(OSError):
            part.unlink()
        reason = str(error).partition("\n")[0]
        instead = "make room, or set GRAPHVEIL_CACHE to another folder"
        raise InputError(f"the checkpoint {file} cannot be written ({reason}): {instead}") from None
