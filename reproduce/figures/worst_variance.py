"""LDP-GE's Fig. 1: the worst-case variance of one value's answer, for four mechanisms.

The document compares variances alone, and one of the four is biased: the square wave as it is, which HDS uses. So the bias stands beside
the variance, and what both come to together; and what a decoder reaches that listens to nobody, whose variance is 0.
Nothing is drawn at random: every number is a moment of a channel's table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from graphveil import channels
from graphveil.channels import FiniteChannel
from graphveil.experiments.figure import Chart, ChartPanel, Role, Series
from graphveil.experiments.papers import FigureInput
from graphveil.statistics import Summary
from reproduce.figures import spans
from reproduce.figures.squared_error import SquaredError, squared_error

EPSILONS = (0.1, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
QUICK_EPSILONS = (0.5, 2.0, 5.0)
# An unbiased channel is so but for rounding of floats, which is relative to its answers.
ROUNDING = 1e-6

WAVE, DEBIASED, SILENCE = "SW as it is (HDS)", "SW debiased", "no answer at all: always 0"
RIVALS = ("LP", "PM", "MB")
# Of a value v the constant is |v| away, always.
NO_ANSWER = SquaredError(variance=0.0, bias=1.0, whole=1.0)

Kind = Literal["variance", "bias", "whole"]
Y_LABELS: Mapping[Kind, str] = {
    "variance": "max over x of Var[x̃]",
    "bias": "max over x of |E x̃ - x|",
    "whole": "max over x of E(x̃ - x)²",
}
TITLES: Mapping[Kind, str] = {
    "variance": "worst-case variance, as the document draws it",
    "bias": "worst-case bias",
    "whole": "both: worst-case squared error",
}


@dataclass(frozen=True)
class Case:
    """One line: the channel at a budget."""

    build: Callable[[float], FiniteChannel]
    note: str = ""
    role: Role = "line"


CASES: Mapping[str, Case] = {
    "LP": Case(channels.laplace, "unbiased"),
    "PM": Case(channels.piecewise, "unbiased"),
    "MB": Case(channels.onebit, "unbiased; of one value it is one bit"),
    WAVE: Case(lambda epsilon: channels.square_wave(epsilon, raw=True), "biased towards the middle"),
    DEBIASED: Case(channels.square_wave, "unbiased, as TOGL has it", "companion"),
}

# By budget, then by line.
Errors = Mapping[float, Mapping[str, SquaredError]]


def compute(given: FigureInput) -> Chart:
    """Variances, biases and squared errors over the budget."""
    budgets = QUICK_EPSILONS if given.quick else EPSILONS
    errors: dict[float, dict[str, SquaredError]] = {}
    for place, epsilon in enumerate(budgets):
        given.progress(f"ε = {epsilon:g}", place / len(budgets))
        errors[epsilon] = {label: squared_error(case.build(epsilon)) for label, case in CASES.items()}
    panels = tuple(
        ChartPanel(TITLES[kind], "ε", Y_LABELS[kind], _lines(kind, budgets, errors), _scales(kind))
        for kind in Y_LABELS
    )
    return Chart(panels, tuple(findings(errors)), columns=3)


def _scales(kind: Kind) -> Literal["", "y"]:
    # A bias may be 0, which has no logarithm.
    return "" if kind == "bias" else "y"


def _lines(kind: Kind, budgets: tuple[float, ...], errors: Errors) -> tuple[Series, ...]:
    lines = [
        _line(label, budgets, [_number(errors[epsilon][label], kind) for epsilon in budgets], case)
        for label, case in CASES.items()
    ]
    # A variance of 0 has no place on a logarithmic scale: findings say it.
    if kind != "variance":
        constant = [_number(NO_ANSWER, kind)] * len(budgets)
        lines.append(
            Series(SILENCE, budgets, _summaries(constant), "nobody is asked; its variance is 0", "reference")
        )
    return tuple(lines)


def _line(label: str, x: tuple[float, ...], y: Sequence[float], case: Case) -> Series:
    return Series(label, x, _summaries(y), case.note, case.role)


def _summaries(numbers: Sequence[float]) -> tuple[Summary, ...]:
    return tuple(Summary(number, None, None) for number in numbers)


def _number(error: SquaredError, kind: Kind) -> float:
    number: float = getattr(error, kind)
    return 0.0 if kind == "bias" and number < ROUNDING * max(1.0, error.variance) else number


def findings(errors: Errors) -> list[str]:
    """Where the square wave as it is has the lowest number, by variance, debiased, and with its bias counted."""
    budgets = sorted(errors)

    def below(label: str, rivals: Sequence[str], kind: Kind) -> str:
        found = [
            epsilon
            for epsilon in budgets
            if all(
                _number(errors[epsilon][label], kind) < _number(errors[epsilon][rival], kind)
                for rival in rivals
            )
        ]
        return f"at ε = {spans(found, budgets)}" if found else "nowhere"

    each = "; ".join(f"than {rival} {below(WAVE, [rival], 'variance')}" for rival in RIVALS)
    biases = [_number(errors[epsilon][WAVE], "bias") for epsilon in budgets]
    silence = [
        epsilon
        for epsilon in budgets
        if _number(errors[epsilon][WAVE], "whole") >= _number(NO_ANSWER, "whole")
    ]
    biased = (
        f"by {biases[0]:.2f} of a value of 1 at ε = {budgets[0]:g}, {biases[-1]:.2f} at ε = {budgets[-1]:g}"
    )
    alone = "No answer at all has no variance and a bias of 1: variances alone say nothing"
    debiased = below(DEBIASED, RIVALS, "variance")
    both = below(WAVE, RIVALS, "whole")
    said = [
        f"{WAVE} has a smaller variance {each}.",
        f"It is the only one that is biased: {biased}. {alone}.",
        f"Debiased, it has a smaller variance than the three others {debiased}.",
        f"With its bias counted, it has a smaller squared error than they {both}.",
    ]
    if silence:
        said.append(
            f"At ε = {spans(silence, budgets)} that error is no smaller than that of no answer at all."
        )
    return said
