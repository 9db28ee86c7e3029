"""What came of a printed table: our results beside the printed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphveil.errors import GraphveilError
from graphveil.experiments.cells import Cells
from graphveil.experiments.paper import PaperCell
from graphveil.experiments.result import Result
from graphveil.experiments.statistics import bootstrap
from graphveil.experiments.sweep_result import NONE, with_interval

UNFINISHED = "not finished"


@dataclass(frozen=True)
class Answer:
    """A printed number with our result, or with why there is none."""

    cell: PaperCell
    result: Result | None
    note: str

    def row(self) -> list[str]:
        """Theirs, ours, control, structure and the note."""
        theirs = NONE if self.cell.printed is None else f"{self.cell.printed:.1f}"
        return [theirs, *(self._scores(part) for part in ("method", "control", "structure")), self.note]

    def to_dict(self) -> dict[str, Any]:
        """The answer in the form that `--json` prints; what was printed is in percent, scores are 0..1."""
        cell = self.cell
        about = {"row": cell.row, "column": cell.column, "data": cell.spec.data, "epsilon": cell.spec.epsilon}
        ours = None if self.result is None else self.result.to_dict()
        return {**about, "printed": cell.printed, "note": self.note or None, "ours": ours}

    def _scores(self, part: str) -> str:
        scores = [] if self.result is None else self.result.scores(part)
        return with_interval(bootstrap(scores) if scores else None)


def answers(cells: Sequence[PaperCell], skipped: Sequence[str], done: Cells) -> list[Answer]:
    """Each cell with what came of it; ``done`` holds the cells that were not skipped, in their order."""
    results = iter(done.results)
    found = []
    for cell, why in zip(cells, skipped, strict=True):
        result = None if why else next(results)
        if isinstance(result, GraphveilError):
            found.append(Answer(cell, None, f"not run: {result}"))
        else:
            found.append(Answer(cell, result, why or (UNFINISHED if result is None else "")))
    return found
