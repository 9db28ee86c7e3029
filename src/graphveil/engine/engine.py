"""Which engine computes: processes of this machine, or Ray."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

from graphveil.checks import check_whole
from graphveil.engine.address import AUTO, check_address
from graphveil.engine.crew import EVERY, Crew
from graphveil.engine.pool import Pool, workers
from graphveil.errors import InputError

LOCAL, RAY = "local", "ray"


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
    checkpoint_every: int = EVERY

    def __post_init__(self) -> None:
        if self.name not in (LOCAL, RAY) or (self.address is not None and self.name != RAY):
            raise InputError(f"an engine is {LOCAL} or {RAY}, and only {RAY} has an address, got {self!r}")
        check_whole(self.checkpoint_every, "--checkpoint-every", least=1)
        if self.workers is not None:
            check_whole(self.workers, "--workers", least=1)

    @classmethod
    def of(cls, written: str | Engine, workers: int | None = None, checkpoint_every: int = EVERY) -> Engine:
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

    def crew(self) -> Crew:
        """Whoever starts the workers that share a unit: processes of this machine, or Ray."""
        if self.name == LOCAL:
            from graphveil.engine.process_crew import ProcessCrew

            return ProcessCrew()
        from graphveil.engine.ray_crew import RayCrew

        return RayCrew(self.address)

    def host(self) -> str:
        """Where workers reach this process: they may be on other machines where Ray is."""
        if self.address is None:
            return "127.0.0.1"
        from graphveil.engine.ray_session import own_address

        return own_address(self.address)

    def pool(self, jobs: int | None, most: int | None = None) -> AbstractContextManager[Pool]:
        """Workers until the end, ``jobs`` of them, but no more than there is to do at most.

        Without ``jobs`` it is one process here, and on Ray as many workers as it has processors.
        """
        if self.name == LOCAL:
            return workers(min(jobs or 1, most or jobs or 1))
        from graphveil.engine.ray_pool import ray_workers

        return ray_workers(self.address, jobs)

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
        from graphveil.engine.ray_session import kept_open

        return kept_open()


HERE = Engine()
