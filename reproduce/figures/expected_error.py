"""HeteroRR's Fig. 10: how far one value's answer is from it at the whole budget, for eleven mechanisms.

Nothing is drawn at random: every number is an expectation over a channel's table. The document compares errors alone. Here each
mechanism's bias stands beside them, and what a decoder reaches that listens to nobody: an error is also made small by answering
near the middle whatever the value is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from graphveil import channels
from graphveil.channels import FiniteChannel
from graphveil.experiments.figure import Chart, ChartPanel, Role, Series
from graphveil.experiments.papers import FigureInput
from graphveil.statistics import Summary
from reproduce.figures import spans
from reproduce.figures.absolute_error import AbsoluteError, absolute_error

# The two ranges of budgets that the document speaks of.
SMALL = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
LARGE = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
QUICK_SMALL, QUICK_LARGE = (0.1, 0.5), (0.5, 2.0, 9.0)
# The document names neither: FEATURERR's bins as graphveil has them, and the δ of the Gaussian.
BINS, DELTA = 10, 1e-5
BIAS_DIGITS = 9

PRINTED, DEBIASED = "FEATURERR (as printed)", "FEATURERR (debiased)"
CONSTANT, CLIPPED = "no answer at all: always 1/2", "the best of the others, clipped to [0, 1]"
# Of a value v the constant is |v - 1/2| away.
NO_ANSWER = AbsoluteError(uniform=0.25, worst=0.5, bias=0.5)
INPUTS = {"uniform": "uniform inputs", "worst": "worst-case inputs"}


@dataclass(frozen=True)
class Case:
    """One line: the channel at a budget, and how values are encoded for it."""

    build: Callable[[float], FiniteChannel]
    binned: bool = False
    note: str = ""
    role: Role = "line"


CASES: Mapping[str, Case] = {
    PRINTED: Case(
        lambda epsilon: channels.featurerr(epsilon, BINS, raw=True),
        binned=True,
        note=f"{BINS} bins, which decode to their upper edges",
    ),
    DEBIASED: Case(lambda epsilon: channels.featurerr(epsilon, BINS), role="companion"),
    "Duchi": Case(channels.duchi),
    "Piecewise": Case(channels.piecewise),
    "Hybrid": Case(channels.hybrid, note="Duchi up to ε = 0.61"),
    "Three-output": Case(channels.three_output, note="Duchi up to ε = 0.69"),
    "PM-SUB": Case(channels.pm_sub),
    "Laplace": Case(channels.laplace),
    "Gaussian": Case(
        lambda epsilon: channels.analytic_gaussian(epsilon, DELTA), note=f"exact calibration, δ = {DELTA:g}"
    ),
    "LPGNN": Case(channels.onebit, note="one bit of one value: the same as Duchi"),
    "LATENT (bits as they are)": Case(
        lambda epsilon: channels.latent(epsilon, raw=True), note="corrected: the budget covers all its bits"
    ),
    "LATENT (debiased)": Case(channels.latent, role="companion"),
    "OME (bits as they are)": Case(
        lambda epsilon: channels.ome(epsilon, raw=True), note="corrected: the budget covers all its bits"
    ),
    "OME (debiased)": Case(channels.ome, role="companion"),
}
OTHERS = tuple(label for label in CASES if label not in (PRINTED, DEBIASED))

# By budget, then by line.
Errors = Mapping[float, Mapping[str, AbsoluteError]]


def compute(given: FigureInput) -> Chart:
    """Errors for uniform and for worst-case inputs and the worst biases, over small budgets and over large ones."""
    small, large = (QUICK_SMALL, QUICK_LARGE) if given.quick else (SMALL, LARGE)
    budgets = sorted({*small, *large})
    plain: dict[float, dict[str, AbsoluteError]] = {}
    clipped: dict[float, dict[str, AbsoluteError]] = {}
    for place, epsilon in enumerate(budgets):
        given.progress(f"ε = {epsilon:g}", place / len(budgets))
        plain[epsilon] = errors_at(epsilon)
        clipped[epsilon] = errors_at(epsilon, OTHERS, clipped=True)
    panels = []
    for kind, y_label in (
        ("uniform", "E|z - z̃|"),
        ("worst", "max over z of E|z - z̃|"),
        ("bias", "max |bias|"),
    ):
        for axis in (small, large):
            title = f"{INPUTS.get(kind, 'worst-case bias')}, ε from {axis[0]:g} to {axis[-1]:g}"
            lines = _lines(kind, axis, plain, clipped)
            panels.append(ChartPanel(title, "ε", y_label, lines, "x" if kind == "bias" else "xy"))
    return Chart(tuple(panels), tuple(findings(plain, clipped)), columns=2)


def errors_at(
    epsilon: float, labels: Iterable[str] = CASES, *, clipped: bool = False
) -> dict[str, AbsoluteError]:
    """The errors of some mechanisms at one budget; ``clipped`` answers are within the range, which costs no privacy."""
    chosen = {label: CASES[label] for label in labels}
    return {
        label: absolute_error(case.build(epsilon), binned=case.binned, clipped=clipped)
        for label, case in chosen.items()
    }


def _lines(kind: str, axis: tuple[float, ...], plain: Errors, clipped: Errors) -> tuple[Series, ...]:
    lines = [
        _line(label, axis, [_number(plain[epsilon][label], kind) for epsilon in axis], case.note, case.role)
        for label, case in CASES.items()
    ]
    if kind != "bias":
        best = [_number(clipped[epsilon][_best(clipped[epsilon], kind)], kind) for epsilon in axis]
        lines.append(_line(CLIPPED, axis, best, "clipping costs no privacy", "reference"))
    constant = _number(NO_ANSWER, kind)
    lines.append(_line(CONSTANT, axis, [constant] * len(axis), "nobody is asked", "reference"))
    return tuple(lines)


def _line(label: str, x: tuple[float, ...], y: list[float], note: str, role: Role) -> Series:
    return Series(label, x, tuple(Summary(value, None, None) for value in y), note, role)


def _number(error: AbsoluteError, kind: str) -> float:
    number: float = getattr(error, kind)
    # An unbiased channel is so but for rounding of floats.
    return round(number, BIAS_DIGITS) if kind == "bias" else number


def _best(errors: Mapping[str, AbsoluteError], kind: str) -> str:
    """The line with the lowest error; of equal ones the first."""
    return min(errors, key=lambda label: _number(errors[label], kind))


def findings(plain: Errors, clipped: Errors) -> list[str]:
    """For both kinds of input: where FEATURERR as printed has the lowest error, and whether it owes that to its bias."""
    return [_finding(kind, plain, clipped) for kind in INPUTS]


def _finding(kind: str, plain: Errors, clipped: Errors) -> str:
    budgets = sorted(plain)
    others = {epsilon: {label: plain[epsilon][label] for label in OTHERS} for epsilon in budgets}

    def at(chosen: Sequence[float]) -> str:
        return f"at ε = {spans(chosen, budgets)}" if chosen else "nowhere"

    def ahead(label: str, rivals: Errors, among: Sequence[float] = budgets) -> list[float]:
        """Where a line is below those of all rivals."""
        return [
            epsilon
            for epsilon in among
            if _number(plain[epsilon][label], kind)
            < _number(rivals[epsilon][_best(rivals[epsilon], kind)], kind)
        ]

    wins = ahead(PRINTED, others)
    said = f"{INPUTS[kind].capitalize()}: {PRINTED} has the lowest error {at(wins)}"
    winners = {epsilon: _best(others[epsilon], kind) for epsilon in budgets if epsilon not in wins}
    for label in dict.fromkeys(winners.values()):
        said += f", {label} {at([epsilon for epsilon in winners if winners[epsilon] == label])}"
    sentences = [said]
    by_bias = [epsilon for epsilon in wins if epsilon not in ahead(DEBIASED, others)]
    if by_bias:
        biases = [plain[epsilon][PRINTED].bias for epsilon in by_bias]
        sentences.append(
            f"{at(by_bias).capitalize()} it owes that to its bias (up to {max(biases):.2f} of the range): debiased it is behind"
        )
    silence = _number(NO_ANSWER, kind)
    useless = [epsilon for epsilon in wins if _number(plain[epsilon][PRINTED], kind) >= silence]
    if useless:
        sentences.append(
            f"{at(useless).capitalize()} no answer at all errs no more than that (always 1/2: {silence:g})"
        )
    fair = ahead(PRINTED, clipped, wins)
    if fair != wins:
        sentences.append(f"Against the others clipped to the range it has the lowest error {at(fair)}")
    return ". ".join(sentences) + "."
