"""Which engine computes: processes of this machine, or Ray."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.experiments.processes import Pool, processes
from graphveil.lazy import scale

LOCAL, RAY = "local", "ray"
# Checkpoints are written each so many epochs, where nothing else is said.
CHECKPOINT_EVERY = 20
# The Ray that runs on this machine already, whatever its address is.
AUTO = "auto"
# A host's name or address (in brackets, where it has colons itself) and a port.
ADDRESS = re.compile(r"(?P<host>[^\s:/\[\]]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})")
MOST_PORT = (1 << 16) - 1


def check_address(address: str) -> None:
    """Refuse what is no address of Ray; whether somebody is there is seen later."""
    found = ADDRESS.fullmatch(address)
    if address != AUTO and (found is None or not 1 <= int(found["port"]) <= MOST_PORT):
        raise InputError(
            f"ray://{address} is no address: give ray://HOST:PORT as `ray start --head` prints it, for example "
            f"ray://127.0.0.1:6379, or ray://{AUTO} for the Ray that runs on this machine"
        )


def host_and_port(address: str) -> tuple[str, int] | None:
    """Where to knock; None where Ray looks for itself.

    >>> host_and_port("[::1]:6379"), host_and_port("auto")
    (('::1', 6379), None)
    """
    found = ADDRESS.fullmatch(address)
    return None if found is None else (found["host"].strip("[]"), int(found["port"]))


@dataclass(frozen=True)
class Engine:
    """Where units are computed. It changes no number.

    ``address`` is that of a running Ray, HOST:PORT or ``auto``; without one, Ray is started here and ends with what it was started for.
    So many ``workers`` share the learning of one unit; without it, each unit is one worker's own.
    """

    name: str = LOCAL
    address: str | None = None
    workers: int | None = None
    # Where workers share a unit: each so many epochs they write down how far they are.
    checkpoint_every: int = CHECKPOINT_EVERY

    def __post_init__(self) -> None:
        if self.name not in (LOCAL, RAY) or (self.address is not None and self.name != RAY):
            raise InputError(f"an engine is {LOCAL} or {RAY}, and only {RAY} has an address, got {self!r}")
        check_whole(self.checkpoint_every, "--checkpoint-every", least=1)
        if self.workers is not None:
            check_whole(self.workers, "--workers", least=1)

    @classmethod
    def of(
        cls, written: str | Engine, workers: int | None = None, checkpoint_every: int = CHECKPOINT_EVERY
    ) -> Engine:
        """An engine as it is written: ``local``, ``ray``, ``ray://HOST:PORT`` or ``ray://auto``.

        >>> Engine.of("ray://10.0.0.7:6379", workers=2)
        Engine(name='ray', address='10.0.0.7:6379', workers=2, checkpoint_every=20)
        """
        if isinstance(written, Engine):
            return written
        name, divider, address = written.partition("://")
        if name not in (LOCAL, RAY) or (divider and name == LOCAL):
            raise InputError(
                f"--engine must be {LOCAL}, {RAY}, {RAY}://HOST:PORT or {RAY}://{AUTO}, got {written!r}"
            )
        if divider:
            check_address(address)
        return cls(name, address if divider else None, workers, checkpoint_every)

    def inside(self, jobs: int | None) -> bool:
        """Whether units are begun in this very process, one after the other; workers may share each."""
        return self.workers is not None or (self.name == LOCAL and (jobs or 1) == 1)

    def outside(self, jobs: int | None, units: int, *, shared: bool = False) -> bool:
        """Whether so many units are computed outside this process. One alone is not worth a process here, unless ``shared`` ones are there."""
        if self.workers is not None:
            return False
        if self.name == LOCAL:
            return not self.inside(jobs) and units > (0 if shared else 1)
        return units > 0

    def check_units(self, what: str) -> None:
        """Refuse workers where many units are computed, each by itself."""
        if self.workers is not None:
            raise InputError(
                f"--workers share the learning of one run, and {what} has many: leave --workers out, and --jobs says how many are computed "
                "at a time"
            )

    def pool(self, jobs: int | None, most: int | None = None) -> AbstractContextManager[Pool]:
        """Workers until the end, ``jobs`` of them, but no more than there is to do at most.

        Without ``jobs`` it is one process here, and on Ray as many workers as it has processors.
        """
        if self.name == LOCAL:
            return processes(min(jobs or 1, most or jobs or 1))
        pool: AbstractContextManager[Pool] = scale().open_ray_pool(self.address, jobs)
        return pool

    @contextmanager
    def shared(self, jobs: int | None) -> Iterator[Callable[[], Pool]]:
        """Workers for several experiments, which start when they are first asked for, and anew after they were stopped."""
        with ExitStack() as ending:
            started: list[Pool] = []

            def give() -> Pool:
                if not started or started[-1].stopped:
                    started.append(ending.enter_context(self.pool(jobs)))
                return started[-1]

            yield give

    def open(self) -> AbstractContextManager[None]:
        """For several calls that have workers of their own: meanwhile Ray is started at most once."""
        if self.name == LOCAL:
            return nullcontext()
        opened: AbstractContextManager[None] = scale().kept_open()
        return opened


HERE = Engine()
