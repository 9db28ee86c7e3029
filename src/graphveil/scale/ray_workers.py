"""Workers of Ray Train that learn together, on this machine or on a cluster."""

from __future__ import annotations

import asyncio
import logging
import math
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ray
import torch
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

from graphveil.scale.ray_pool import Sender
from graphveil.scale.ray_session import connected
from graphveil.scale.scratch import scratch
from graphveil.scale.workers import (
    PATIENCE,
    RESTARTS,
    Answer,
    Caller,
    GlooCollective,
    Progress,
    WorkersLostError,
    check_room,
    no_answer,
    perform,
    raise_failure,
)

Results = dict[int, tuple[str, Any]]


class RayWorkers:
    """Workers are started by Ray Train, which starts all of them again where one is lost; they talk by torch.distributed (gloo).

    A worker reserves a processor, or its share where there are fewer processors than workers.
    """

    def __init__(self, address: str | None = None) -> None:
        self.address = address

    def run(
        self,
        work: Callable[..., Any],
        tasks: Sequence[Any],
        progress: Progress | None,
        answer: Answer = no_answer,
    ) -> list[Any]:
        """Return the workers' results, in their order.

        Parameters
        ----------
        work, tasks, progress, answer
            As for `Workers.run`.
        """
        count = len(tasks)
        with connected(self.address, None), scratch("train") as folder, _quiet():
            check_room(count, float(ray.cluster_resources().get("memory", math.inf)), "this Ray")
            mailbox: Any = ray.remote(num_cpus=0)(Mailbox).remote()
            config = {
                "sender": Sender.here(),
                "tasks": [ray.put(pickle.dumps((work, task))) for task in tasks],
                "mailbox": mailbox,
            }
            trainer = TorchTrainer(
                _work,
                train_loop_config=config,
                torch_config=TorchConfig(backend="gloo", timeout_s=int(PATIENCE.total_seconds())),
                scaling_config=ScalingConfig(num_workers=count, resources_per_worker={"CPU": _share(count)}),
                run_config=RunConfig(
                    storage_path=str(folder), failure_config=FailureConfig(max_failures=RESTARTS)
                ),
            )
            with _listening(mailbox, progress, answer) as found:
                how = _fit(trainer)
        for rank, message in sorted(found.items()):
            raise_failure(rank, *message)
        if len(found) < count:
            raise WorkersLostError(how or "they returned nothing")
        return [found[rank][1] for rank in range(count)]


def _fit(trainer: TorchTrainer) -> str:
    """Run the training; return why it ended early, or an empty string."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    try:
        trainer.fit()
    except ray.train.TrainingFailedError as error:
        return str(error).strip().splitlines()[-1][:300]
    except SystemExit:
        # Ray Train takes interrupts itself: it ends its workers, then this process.
        raise KeyboardInterrupt from None
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
    return ""


def _work(config: dict[str, Any]) -> None:
    """Do the work of one worker; it is called again where all workers are restarted."""
    config["sender"].become()
    torch.set_num_threads(1)
    collective, mailbox = GlooCollective(), config["mailbox"]
    rank = collective.rank
    work, task = pickle.loads(ray.get(config["tasks"][rank]))
    caller = Caller(
        lambda *message: mailbox.tell.remote(rank, "progress", pickle.dumps(message)),
        lambda question: pickle.loads(ray.get(mailbox.ask.remote(pickle.dumps(question)))),
    )
    kind, message = perform(lambda: work(task, collective, caller))
    if kind != "result" and ray.get(mailbox.failed.remote()):
        # Another one has told why: this one was left alone, and there is nothing to repeat.
        return
    if kind == "lost":
        raise RuntimeError(message)
    ray.get(mailbox.tell.remote(rank, kind, pickle.dumps(message)))
    if kind == "result":
        torch.distributed.barrier()


class Mailbox:
    """Messages of workers to their caller, in the order in which they came, and its answers to their questions; all of them packed."""

    def __init__(self) -> None:
        self._messages: asyncio.Queue[tuple[int, str, bytes]] = asyncio.Queue()
        self._answers: list[asyncio.Future[bytes]] = []
        self._failed = False

    async def tell(self, sender: int, kind: str, message: bytes) -> None:
        """Leave a message.

        Parameters
        ----------
        sender
            The worker, or the number of a question.
        kind, message
            What `perform` returns, "progress", "question" or "end"; and what goes with it, packed.
        """
        self._failed = self._failed or kind in ("error", "fault")
        self._messages.put_nowait((sender, kind, message))

    async def ask(self, question: bytes) -> bytes:
        """Leave a question, and wait for its answer."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._answers.append(answer)
        await self.tell(len(self._answers) - 1, "question", question)
        return await answer

    async def answer(self, number: int, message: bytes) -> None:
        """Answer a question."""
        self._answers[number].set_result(message)

    async def next(self) -> tuple[int, str, bytes]:
        """Wait for the next message."""
        return await self._messages.get()

    async def failed(self) -> bool:
        """Return whether a worker has told that it failed."""
        return self._failed


@contextmanager
def _listening(mailbox: Any, progress: Progress | None, answer: Answer) -> Iterator[Results]:
    """Listen to workers while they work; afterwards the results have all that they told at last."""
    results: Results = {}

    def listen() -> None:
        while True:
            sender, kind, packed = ray.get(mailbox.next.remote())
            message = pickle.loads(packed)
            if kind == "end":
                return
            if kind == "question":
                mailbox.answer.remote(sender, pickle.dumps(answer(message)))
            elif kind != "progress":
                results[sender] = kind, message
            elif progress is not None:
                progress(*message)

    thread = threading.Thread(target=listen, daemon=True, name="messages of workers")
    thread.start()
    try:
        yield results
    finally:
        mailbox.tell.remote(0, "end", pickle.dumps(None))
        thread.join(timeout=60)


def _share(workers: int) -> float:
    """The processors that a worker reserves: one, or its share of those that there are."""
    there = float(ray.cluster_resources().get("CPU", 1))
    return min(1.0, int(100 * there / workers) / 100) or 0.01


@contextmanager
def _quiet() -> Iterator[None]:
    """Ray Train tells its story in a log, and not on the terminal."""
    names = ("ray.train", "ray.tune", "ray.data")
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
