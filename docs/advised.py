"""Advice on budgets beside what was measured: each graph left out of all that its advice was learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

import numpy as np

from docs.layouts import markdown, signed
from graphveil.experiments.advice import TOO_MUCH, BudgetLine, may_surprise
from graphveil.methods.veil_advice import GainModel, Kind, PredictedGain
from reproduce.advice.fit import TAIL, fit_gain_model
from reproduce.advice.gains import MeasuredGain, measured_gains

# What the name of a graph with few labels ends in.
FEW = " few"


@dataclass(frozen=True)
class Checked:
    """A graph at a budget: what advice said, what one guess for all graphs would have said, and what came, in points."""

    graph: str
    epsilon: float
    panel: int
    structure: float
    runs: int
    said: PredictedGain
    guess: PredictedGain
    gain: float
    surprising: bool

    @property
    def verdict(self) -> str:
        """yes, no or open."""
        said = self.said
        return BudgetLine(self.epsilon, said.gain, said.low, said.high, surprising=self.surprising).collect


def inside(gain: float, said: PredictedGain) -> bool:
    """Whether a gain lies in an interval."""
    return said.low <= gain <= said.high


@cache
def checked(kind: Kind, *, towns: bool = False) -> tuple[Checked, ...]:
    """Every real graph, or town, that has lines of that kind, at every budget and size of a panel."""
    lines = [line for line in measured_gains() if (line.situation.panel > 0) == (kind != "private")]
    rows = []
    for data in dict.fromkeys(line.data for line in lines if line.town == towns):
        others = [line for line in lines if line.data != data]
        model = fit_gain_model(kind, others, town=towns)
        own = sorted((line for line in lines if line.data == data), key=_cell)
        for _, cell in groupby(own, key=_cell):
            rows.append(_checked(list(cell), model, others))
    return tuple(rows)


def _cell(line: MeasuredGain) -> tuple[str, float, int]:
    return line.graph, line.situation.epsilon, line.situation.panel


def _checked(cell: Sequence[MeasuredGain], model: GainModel, others: Sequence[MeasuredGain]) -> Checked:
    """Advice from the public numbers of the first split, and the mean gain of all splits."""
    graph, epsilon, panel = _cell(cell[0])
    few = graph.endswith(FEW)
    like = [
        line.gain
        for line in others
        if line.town == cell[0].town
        and line.graph.endswith(FEW) == few
        and _cell(line)[1:] == (epsilon, panel)
    ]
    guess = PredictedGain(float(np.mean(like)), *(float(np.quantile(like, at)) for at in (TAIL, 1 - TAIL)))
    gain = float(np.mean([line.gain for line in cell]))
    structure = float(np.mean([line.structure for line in cell]))
    return Checked(
        graph,
        epsilon,
        panel,
        structure,
        len(cell),
        model.predict(cell[0].situation),
        guess,
        gain,
        may_surprise(cell[0].situation),
    )


def advised_table(panel: int = 0, epsilon: float = 4.0) -> str:
    """The documents' table: graphs with half of their labels at one budget."""
    rows = [
        row
        for row in checked("panel" if panel else "private")
        if row.panel == panel and row.epsilon == epsilon and not row.graph.endswith(FEW)
    ]
    lines = [
        [
            row.graph,
            {"yes": "collect", "no": "do not collect", "open": "open"}[row.verdict],
            f"{row.structure:.1f}",
            signed(row.said.gain),
            interval(row.said),
            signed(row.gain),
            "yes" if inside(row.gain, row.said) else "no",
            interval(row.guess),
            "yes" if inside(row.gain, row.guess) else "no",
        ]
        for row in rows
    ]
    head = [
        "graph",
        "advice",
        "structure",
        "foretold",
        "interval",
        "measured",
        "inside",
        "one guess",
        "inside",
    ]
    return f"{markdown(head, lines, 2)}\n\n{counted(rows)}"


def interval(said: PredictedGain) -> str:
    """Both ends of an interval."""
    return f"{signed(said.low)} to {signed(said.high)}"


def counted(rows: Sequence[Checked]) -> str:
    """How often intervals held, how wide they are and how far off what was foretold."""
    cells = zip(("Intervals", "One guess for all"), (summary(rows), summary(rows, guess=True)), strict=True)
    return " ".join(
        f"{name}: {hit} of {len(rows)} inside, mean width {width:.1f}, mean error {error:.1f} points."
        for name, (hit, width, error) in cells
    )


def summary(rows: Sequence[Checked], *, guess: bool = False) -> tuple[int, float, float]:
    """How many gains lie inside, the mean width, and the mean absolute error: of advice, or of one guess."""
    said = [row.guess if guess else row.said for row in rows]
    hit = sum(inside(row.gain, each) for row, each in zip(rows, said, strict=True))
    width = float(np.mean([each.high - each.low for each in said]))
    error = float(np.mean([abs(row.gain - each.gain) for row, each in zip(rows, said, strict=True)]))
    return hit, width, error


def advised_panel_table() -> str:
    """The same with 300 volunteers."""
    return advised_table(panel=300)


def advised_all_table() -> str:
    """All that was measured, by kind of graph and of teacher."""
    lines = []
    teachers: tuple[tuple[Kind, str], ...] = (
        ("private", "a part of the users"),
        ("panel", "volunteers, their rows known"),
        ("planned", "volunteers, only their number known"),
    )
    for kind, teacher in teachers:
        half = [row for row in checked(kind) if not row.graph.endswith(FEW)]
        few = [row for row in checked(kind) if row.graph.endswith(FEW)]
        for name, rows in (("half", half), ("few labels", few), ("towns", checked(kind, towns=True))):
            hit, width, error = summary(rows)
            guess = summary(rows, guess=True)
            refused = sum(row.verdict == "no" for row in rows)
            wrong = sum(row.verdict == "no" and row.gain >= TOO_MUCH for row in rows)
            lines.append(
                [
                    *(
                        teacher,
                        name,
                        str(len(rows)),
                        f"{100 * hit / len(rows):.0f}%",
                        f"{width:.1f}",
                        f"{error:.1f}",
                    ),
                    *(f"{100 * guess[0] / len(rows):.0f}%", f"{guess[1]:.1f}", f"{guess[2]:.1f}"),
                    *(str(refused), str(wrong)),
                ]
            )
    head = [
        *("who teaches", "graphs", "cells", "inside", "width", "error"),
        *("one guess: inside", "width", "error", "do not collect", f"of them {TOO_MUCH:g} or more"),
    ]
    return markdown(head, lines, 2)
