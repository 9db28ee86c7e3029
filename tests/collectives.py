"""A collective of threads: what workers tell each other, without starting processes. Nothing in it may draw from torch's own generator."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np

from graphveil.scale.partitioned_graph import GraphPartition, cut_part


class ThreadCollective:
    def __init__(self, rank, size, board, barrier, lines):
        self.rank, self.size = rank, size
        self._board, self._barrier, self._lines = board, barrier, lines
        self.sent_bytes = 0
        self._flying = []

    def _everybody(self, value):
        self._board[self.rank] = value
        self._barrier.wait()
        told = list(self._board)
        self._barrier.wait()
        return told

    def sum(self, values):
        return np.sum(self._everybody(np.asarray(values)), axis=0)

    def gather(self, rows):
        return np.concatenate(self._everybody(np.array(rows)))

    def swap(self, sent):
        return [each[self.rank] for each in self._everybody([np.array(numbers) for numbers in sent])]

    def post(self, sent, into):
        self._check_untouched([*sent, *into])
        for peer, rows in enumerate(sent):
            if peer != self.rank and rows.numel():
                self.sent_bytes += rows.numel() * rows.element_size()
                self._lines[self.rank, peer].put(rows.clone())
        arriving = _Arriving(self, sent, into)
        self._flying.append(arriving)
        return arriving

    def _check_untouched(self, given):
        """What was sent may leave, and what is to come may arrive, at any moment until somebody waits for it."""
        taken = [_bytes_of(each) for flying in self._flying for each in (*flying.sent, *flying.into)]
        for begin, end in map(_bytes_of, given):
            assert all(end <= other or last <= begin for other, last in taken if other < last), (
                "what is still on its way is written over"
            )


def _bytes_of(rows):
    return rows.data_ptr(), rows.data_ptr() + rows.numel() * rows.element_size()


class _Arriving:
    def __init__(self, collective, sent, into):
        self.collective, self.sent, self.into = collective, sent, into

    def wait(self):
        if self in self.collective._flying:
            self.collective._flying.remove(self)
        for peer, room in enumerate(self.into):
            if peer != self.collective.rank and room.numel():
                room.copy_(self.collective._lines[peer, self.collective.rank].get(timeout=60))


def together(size, work):
    """What ``work(collective)`` returns for each of so many workers, who run at the same time."""
    board, barrier = [None] * size, threading.Barrier(size, timeout=60)
    lines = {(one, other): SimpleQueue() for one in range(size) for other in range(size)}
    with ThreadPoolExecutor(size) as pool:
        started = [
            pool.submit(work, ThreadCollective(rank, size, board, barrier, lines)) for rank in range(size)
        ]
        return [each.result() for each in started]


def parted(graph, size, work, seed=0):
    """What ``work(part)`` returns for each part of a graph that is divided at random."""
    order = np.random.default_rng(seed).permutation(graph.node_count)
    bounds = np.linspace(0, graph.node_count, size + 1).astype(np.int64)
    return together(
        size,
        lambda collective: work(
            GraphPartition(**cut_part(graph, order, bounds, collective.rank), collective=collective)
        ),
    )
