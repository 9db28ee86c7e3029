"""A sweep that is ready to be run: on the graphs that are here, in full or quick, and what is to be said of that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.specs.presence import not_here
from graphveil.experiments.specs.shortened import QUICK_EPOCHS, SHORT
from graphveil.experiments.sweeps.sweep import Cell, Sweep

QUICK = (
    f"Quick: one run of at most {QUICK_EPOCHS} epochs, on the first graph, at the first and the last value of x, to see that it "
    "works. These numbers compare with nothing."
)
SLOW = "left out of --quick, as every user answers every value; --all runs it"


@dataclass(frozen=True)
class ReadySweep:
    """The sweep with what is run of it.

    ``missing`` says what to do about graphs that are not here, ``shortened`` names what takes one short run, ``slow`` what is
    left out of a quick one.
    """

    sweep: Sweep
    cells: tuple[Cell, ...]
    missing: tuple[str, ...] = ()
    shortened: tuple[str, ...] = ()
    slow: tuple[str, ...] = ()
    quick: bool = False

    def remarks(self) -> list[str]:
        """What is to be said of how it is run."""
        said = [QUICK] if self.quick else []
        said += [f"{', '.join(self.shortened)}: {SHORT}."] if self.shortened else []
        said += [f"{', '.join(self.slow)}: {SLOW}."] if self.slow else []
        return [*said, *(f"Left out: {why}." for why in self.missing)]

    def to_dict(self) -> dict[str, Any]:
        """How it is run, in the form that `--json` prints."""
        return {
            "quick": self.quick,
            "left_out": list(self.missing),
            "shortened": list(self.shortened),
            "slow": list(self.slow),
        }


def ready(sweep: Sweep, *, everything: bool = False, quick: bool = False) -> ReadySweep:
    """A sweep on those of its graphs that are here; refused where none is.

    ``everything`` takes all runs of slow cells, ``quick`` one short run of some cells.
    """
    graphs = sweep.all_graphs
    missing = {graph: why for graph in graphs if (why := not_here(graph))}
    if len(missing) == len(graphs):
        raise InputError("; ".join(missing.values()))
    if missing:
        sweep = sweep.on([graph for graph in graphs if graph not in missing])
    if quick:
        sweep = sweep.quick()
        cells = sweep.cells()
        fewest = sweep.measure.fewest
        kept = tuple(cell.quick(fewest) for cell in cells if everything or not cell.slow)
        slow = () if everything else _named(cells)
        return ReadySweep(sweep, kept, tuple(missing.values()), slow=slow, quick=True)
    cells = sweep.cells()
    if everything:
        return ReadySweep(sweep, tuple(cells), tuple(missing.values()))
    return ReadySweep(
        sweep, tuple(cell.shortened() for cell in cells), tuple(missing.values()), _named(cells)
    )


def _named(cells: Sequence[Cell]) -> tuple[str, ...]:
    """The cells that are slow, by what answers every value and on which graph."""
    named: Iterable[str] = (
        f"{cell.spec.budgets.mechanism} on {cell.spec.data}" for cell in cells if cell.slow
    )
    return tuple(dict.fromkeys(named))
