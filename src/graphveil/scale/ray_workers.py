"""Workers of Ray Train that learn together, on this machine or on a cluster."""

from __future__ import annotations

import logging
import math
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import ray
import torch
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

from graphveil.errors import GraphveilError
from graphveil.scale.process_group import GlooCollective, left_alone
from graphveil.scale.ray_pool import Sender
from graphveil.scale.ray_session import connected
from graphveil.scale.scratch import scratch
from graphveil.scale.workers import RESTARTS, Progress, WorkersLostError, check_room

# A worker waits so long for others before it gives up: they may be reading a large part.
PATIENCE = timedelta(hours=2)
# How often progress is looked for, in seconds.
LOOK = 0.5


class RayWorkers:
    """Workers are started by Ray Train, which starts all of them again where one is lost; they talk by torch.distributed (gloo).

    A worker reserves a processor, or its share where there are fewer processors than workers.
    """

    def __init__(self, address: str | None = None) -> None:
        self.address = address

    def run(self, work: Callable[..., Any], tasks: Sequence[Any], progress: Progress | None) -> list[Any]:
        with connected(self.address, None), scratch("train") as folder, _quiet():
            check_room(len(tasks), float(ray.cluster_resources().get("memory", math.inf)), "this Ray")
            actor: Any = ray.remote(num_cpus=0)(_Mailbox)
            mailbox = actor.remote()
            config = {
                "sender": Sender.here(),
                "tasks": [ray.put(pickle.dumps((work, task))) for task in tasks],
                "mailbox": mailbox,
            }
            trainer = TorchTrainer(
                _work,
                train_loop_config=config,
                torch_config=TorchConfig(backend="gloo", timeout_s=int(PATIENCE.total_seconds())),
                scaling_config=ScalingConfig(
                    num_workers=len(tasks), resources_per_worker={"CPU": _share(len(tasks))}
                ),
                run_config=RunConfig(
                    storage_path=str(folder), failure_config=FailureConfig(max_failures=RESTARTS)
                ),
            )
            with _following(mailbox, progress):
                how = _fit(trainer)
            return _results(mailbox, len(tasks), how)


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


def _results(mailbox: Any, count: int, how: str) -> list[Any]:
    """Return what all workers have sent, or raise what one of them raised."""
    told: dict[int, bytes] = ray.get(mailbox.everything.remote())
    found = {rank: pickle.loads(each) for rank, each in told.items()}
    for rank, (kind, each) in sorted(found.items()):
        if kind == "error":
            raise each
        if kind == "fault":
            raise RuntimeError(f"worker {rank} failed:\n{each}")
    if len(found) < count:
        raise WorkersLostError(how or "they returned nothing")
    return [found[rank][1] for rank in range(count)]


def _work(config: dict[str, Any]) -> None:
    """Do the work of one worker; it is called again where all workers are restarted."""
    config["sender"].become()
    torch.set_num_threads(1)
    collective, mailbox = GlooCollective(), config["mailbox"]
    work, task = pickle.loads(ray.get(config["tasks"][collective.rank]))
    try:
        result = work(task, collective, lambda what, share: mailbox.say.remote(what, share))
    except GraphveilError as error:
        # The others may be waiting for this one: they end when it does, and see that there is nothing to repeat.
        ray.get(mailbox.put.remote(collective.rank, pickle.dumps(("error", error))))
        return
    except Exception as error:
        if ray.get(mailbox.failed.remote()):
            return
        if left_alone(error):
            raise
        ray.get(mailbox.put.remote(collective.rank, pickle.dumps(("fault", traceback.format_exc()))))
        return
    ray.get(mailbox.put.remote(collective.rank, pickle.dumps(("result", result))))
    torch.distributed.barrier()


class _Mailbox:
    """The place where workers leave their results and their progress."""

    def __init__(self) -> None:
        self.found: dict[int, bytes] = {}
        self.progress: tuple[str, float] | None = None
        self.errors = False

    def put(self, rank: int, told: bytes) -> None:
        self.found[rank] = told
        self.errors = self.errors or pickle.loads(told)[0] != "result"

    def say(self, what: str, share: float) -> None:
        self.progress = (what, share)

    def latest(self) -> tuple[str, float] | None:
        return self.progress

    def failed(self) -> bool:
        return self.errors

    def everything(self) -> dict[int, bytes]:
        return self.found


@contextmanager
def _following(mailbox: Any, progress: Progress | None) -> Iterator[None]:
    """Tell how far workers are while they work."""
    done = threading.Event()

    def follow() -> None:
        while progress is not None and not done.wait(LOOK):
            told = ray.get(mailbox.latest.remote())
            if told is not None:
                progress(*told)

    thread = threading.Thread(target=follow, daemon=True, name="progress of workers")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=10)


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
