"""Units of the experiments that come next, begun while the last of this one are computed, so that no process waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from graphveil.engine.pool import Pool
from graphveil.errors import GraphveilError
from graphveil.experiments.runs.elsewhere import digest_for, unit_elsewhere
from graphveil.experiments.runs.unit import UnitResult
from graphveil.experiments.specs.inputs import input_digest
from graphveil.experiments.specs.spec import Part, Spec
from graphveil.graphs import Graph, Users

# So many units a worker are begun before their turn.
DEPTH = 4

Units = Sequence[tuple[Part, int]]


@dataclass(frozen=True)
class Begun:
    """A unit that is being computed before its turn, and what it reads."""

    spec: Spec
    part: Part
    digest: str
    future: Future[UnitResult]


class Ahead:
    """Workers that several experiments share: an experiment takes its units, and then units of later ones are begun.

    What is begun before its turn is the same unit with the same numbers. It counts where its experiment takes it, and only if its data are
    still those that it began with.
    """

    def __init__(self, pool: Callable[[], Pool], todo: Callable[[Spec], Units] = lambda _: ()) -> None:
        self.pool, self._todo = pool, todo
        # The experiments that come next, in their order.
        self.coming: Sequence[Spec] = ()
        self._begun: dict[str, Begun] = {}

    def take(self, spec: Spec, units: Units, given: tuple[Graph, Users] | None) -> set[Future[UnitResult]]:
        """An experiment's own units, begun now or before; and units of those that come next."""
        taken = {spec.key(part, number) for part, number in units}
        futures = {self._own(spec, part, number, given) for part, number in units}
        if given is None:
            most = self.pool().count * DEPTH
            for later in self.coming:
                if len(self._begun) >= most:
                    break
                self._begin(later, taken)
        return futures

    def finished(self) -> Iterator[tuple[Begun, UnitResult]]:
        """What was computed before its turn, and not taken."""
        for begun in self._begun.values():
            if begun.future.done() and not begun.future.cancelled() and begun.future.exception() is None:
                yield begun, begun.future.result()

    def _own(
        self, spec: Spec, part: Part, number: int, given: tuple[Graph, Users] | None
    ) -> Future[UnitResult]:
        begun, digest = self._begun.pop(spec.key(part, number), None), digest_for(spec, part, given)
        if begun is not None and begun.digest == digest:
            return begun.future
        return self.pool().submit(unit_elsewhere, spec, part, number, given, digest)

    def _begin(self, spec: Spec, taken: set[str]) -> None:
        """Begin what nobody computes yet. What cannot be run says so when its turn comes."""
        try:
            spec.check()
            wanted = [(spec.key(*unit), input_digest(spec, unit[0]), unit) for unit in self._todo(spec)]
        except GraphveilError:
            return
        for key, digest, (part, number) in wanted:
            if key not in taken and key not in self._begun:
                future = self.pool().submit(unit_elsewhere, spec, part, number, None, digest)
                self._begun[key] = Begun(spec, part, digest, future)
