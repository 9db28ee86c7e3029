"""A collective of processes that talk through torch.distributed, by gloo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from graphveil.graphs.collective import Posted

# What stands in every error of a message that did not arrive.
GLOO = "gloo"
# Integers and truths travel as these, which gloo adds up.
WHOLE, REAL = np.dtype(np.int64), np.dtype(np.float64)


class GlooCollective:
    """The processes of torch's default group, which must be there. It counts the bytes of rows that this one has sent."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.sent_bytes = 0

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        kind = values.dtype if values.dtype.kind == "f" else WHOLE
        total = torch.from_numpy(np.array(values, dtype=kind))
        dist.all_reduce(total)
        summed: NDArray[Any] = total.numpy()
        return summed

    def gather(self, rows: NDArray[Any]) -> NDArray[Any]:
        counts = self._counts(len(rows))
        most = max(counts)
        # What gathers wants parts of one length.
        filled = np.zeros((most, *rows.shape[1:]), dtype=rows.dtype)
        filled[: len(rows)] = rows
        own = torch.from_numpy(filled.view(np.uint8) if filled.dtype == np.bool_ else filled)
        parts = [torch.empty_like(own) for _ in counts]
        dist.all_gather(parts, own)
        whole = [part.numpy()[:count] for part, count in zip(parts, counts, strict=True)]
        joined: NDArray[Any] = np.concatenate(whole)
        return joined.view(rows.dtype) if joined.dtype != rows.dtype else joined

    def swap(self, sent: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        lengths = np.zeros((self.size, self.size), dtype=np.int64)
        lengths[self.rank] = [len(each) for each in sent]
        coming = self.sum(lengths)[:, self.rank].tolist()
        room = [torch.empty(count, dtype=torch.int64) for count in coming]
        self._post([torch.from_numpy(np.array(each, dtype=np.int64)) for each in sent], room).wait()
        return [each.numpy() for each in room]

    def post(self, sent: Sequence[Tensor], into: Sequence[Tensor]) -> Posted:
        self.sent_bytes += sum(
            each.numel() * each.element_size() for peer, each in enumerate(sent) if peer != self.rank
        )
        return self._post(sent, into)

    def _post(self, sent: Sequence[Tensor], into: Sequence[Tensor]) -> Posted:
        on_their_way: list[Any] = []
        for step in range(self.size):
            # Everybody begins with the next one, so that no worker is asked by all at once.
            there, here = (self.rank + step) % self.size, (self.rank - step) % self.size
            if step == 0:
                into[here].copy_(sent[there])
                continue
            if into[here].numel():
                on_their_way.append(dist.irecv(into[here], here))
            if sent[there].numel():
                on_their_way.append(dist.isend(sent[there], there))
        return _OnTheirWay(on_their_way, sent)

    def _counts(self, own: int) -> list[int]:
        lengths = np.zeros(self.size, dtype=np.int64)
        lengths[self.rank] = own
        counts: list[int] = self.sum(lengths).tolist()
        return counts

    def __repr__(self) -> str:
        return f"GlooCollective({self.rank} of {self.size})"


def left_alone(error: BaseException) -> bool:
    """Return whether an error says that a message did not arrive because its sender is gone.

    Any other error is a fault.
    """
    return isinstance(error, dist.DistError) or (isinstance(error, RuntimeError) and GLOO in str(error))


class _OnTheirWay:
    """Messages that have been posted; what is sent is kept until it has left."""

    def __init__(self, messages: list[Any], kept: Sequence[Tensor]) -> None:
        self.messages, self.kept = messages, kept

    def wait(self) -> None:
        for message in self.messages:
            message.wait()
        self.kept = ()
