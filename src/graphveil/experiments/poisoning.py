"""Malicious users: how far a share of them can move an estimate, exactly, and a prediction, measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.attacks.poisoning import (
    ForgingUsers,
    Influence,
    class_direction,
    influence_of,
    weights_in_means,
)
from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.page import Analysis, Section
from graphveil.experiments.table import Table
from graphveil.experiments.unit import OpenUnit, RunUnit, open_unit
from graphveil.methods.job import Progress
from graphveil.number_format import counted, percent, rounded

# The stream of a run's seed by which malicious users are drawn.
STREAM = 21
# Malicious users who say nothing, who push a class, and who push it from where they weigh most.
KINDS = "careless / colluding / and placed"


@dataclass(frozen=True)
class Harm:
    """What malicious users brought about, as means over runs.

    ``score`` is the method's on test users, ``drawn_in`` the share of honest test users of other classes who are taken for the target class.
    """

    score: float
    drawn_in: float


@dataclass(frozen=True)
class Poisoned(Harm):
    """A share of malicious users, drawn at random, who all push the target class; and what others of the same number would do.

    Those of ``careless`` are drawn at random and send what says nothing. Those of ``placed`` push the target class too, and are the users whose
    reports weigh most in the means of their neighbours.
    """

    share: float
    malicious: int
    careless: Harm
    placed: Harm


@dataclass(frozen=True)
class PoisoningAdvice(Analysis):
    """All shares that were looked at, the first of them 0."""

    data: str
    method: str
    metric: str
    target: int
    runs: int
    forged: bool
    influences: tuple[Influence, ...]
    lines: tuple[Poisoned, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, with the bound of every share."""
        whole = asdict(self)
        for line, fields in zip(self.lines, whole["lines"], strict=True):
            fields["moved"] = [each.moved(line.share) for each in self.influences]
        return whole

    @property
    def title(self) -> str:
        return f"malicious users of {self.method} on {self.data}"

    @property
    def headline(self) -> str:
        honest, worst = self.lines[0], self.lines[-1]
        return (
            f"with {percent(worst.share)} of users colluding, {percent(worst.drawn_in)} of others are taken for class {self.target}, "
            f"{percent(worst.placed.drawn_in)} where liars are placed well, and {percent(honest.drawn_in)} without any"
        )

    @property
    def sections(self) -> list[Section]:
        head = (
            "malicious",
            *(f"mean moved ({each.mechanism})" for each in self.influences),
            f"{self.metric} of {self.method}: {KINDS}",
            f"others taken for class {self.target}: {KINDS}",
        )
        rows = []
        for line in self.lines:
            moved = (f"≤ {rounded(each.moved(line.share))}" for each in self.influences)
            harms = (line.careless, line, line.placed)
            scores = " / ".join(percent(each.score) for each in harms)
            drawn_in = " / ".join(percent(each.drawn_in) for each in harms)
            rows.append((percent(line.share), *moved, scores, drawn_in))
        how = (
            "send the worst codes that a server takes"
            if self.forged
            else "send the worst codes where they can be chosen, and else answer for a false row"
        )
        measured = (
            f"Predictions are measured, in {counted(self.runs, 'run')}. Colluding liars know what rows of each class look like, all push "
            f"class {self.target}, and {how}: drawn at random, and placed where their reports weigh most in the means of their neighbours. Careless ones send "
            "reports that say nothing. Others who know more, the trained model for one, may do worse."
        )
        said = (*map(_influence_sentence, self.influences), measured)
        return [Section("What they bring about", said, table=Table(head, rows, head))]


def _influence_sentence(influence: Influence) -> str:
    honest = (
        "an honest one adds 0 to 1 on average"
        if influence.unbiased
        else "its estimates are biased, so any change of a report counts"
    )
    return (
        f"One report by {influence.mechanism} at ε = {influence.epsilon:g} adds at most {rounded(influence.most)} widths of a value's range to the "
        f"sum of its estimates, about {influence.values:,} of {influence.dims:,} values; {honest}. So a share s of liars moves a mean by at most "
        f"{rounded(influence.most)}·s widths on average: exact, from the alphabet and what is refused."
    )


def advise_poisoning(
    spec: Experiment,
    shares: Sequence[float],
    target: int | None = None,
    progress: Progress | None = None,
) -> PoisoningAdvice:
    """Run a method with no malicious users and with each share of them; they want others taken for the target class.

    They know what rows of every class look like on average, and all say the same. Where codes can be chosen they send those that speak most for
    the target class; else they answer as a row would that does. The target is the rarest class where none is named. Beside them stand
    as many who send what says nothing, and as many who push and are placed where they weigh most.
    """
    _check(spec, shares)
    all_shares = (0.0, *(each for each in shares if each))
    harms: dict[float, list[list[Harm]]] = {share: [] for share in all_shares}
    first = open_unit(RunUnit(spec))
    # What cannot be measured is refused before anything is learned.
    chosen, influences, forged = _target(first, target), _influences(first), True
    import_module("graphveil.learn.backbones")
    for run in range(spec.runs):
        for place, share in enumerate(all_shares):
            if progress is not None:
                done = (run * len(all_shares) + place) / (spec.runs * len(all_shares))
                progress(f"run {run + 1}, {share:.0%} malicious", done)
            kinds, all_forged = _harms(RunUnit(spec, run=run), _malicious(first, share), chosen)
            harms[share].append(kinds)
            forged &= all_forged
    lines = []
    for share, runs in harms.items():
        pushing, careless, placed = (
            Harm(*(float(np.mean([getattr(each, name) for each in kind])) for name in ("score", "drawn_in")))
            for kind in zip(*runs, strict=True)
        )
        count = _malicious(first, share)
        lines.append(Poisoned(pushing.score, pushing.drawn_in, share, count, careless, placed))
    names = (spec.data, spec.method, first.graph.metric)
    return PoisoningAdvice(*names, chosen, spec.runs, forged, influences, tuple(lines))


def _malicious(ready: OpenUnit, share: float) -> int:
    return round(share * ready.graph.node_count)


def _check(spec: Experiment, shares: Sequence[float]) -> None:
    spec.check()
    for share in shares:
        check_number(share, "share", least=0, below=1)
    if not any(shares):
        raise InputError("share must name at least one share of malicious users above 0, like 0.05")
    if not spec.resolved_method.can.asks:
        raise InputError(
            f"nobody can lie to {spec.method}, which asks about no features: take another method"
        )
    if not spec.resolved_task.learns_labels or spec.has_levels or spec.budgets.private_links:
        raise InputError("malicious users are measured without levels or private links: take the task node")


def _target(ready: OpenUnit, target: int | None) -> int:
    labels, count = ready.users.raw.labels, ready.graph.class_count
    if labels.ndim == 2 or count < 2:
        raise InputError("malicious users are measured where a user has one class of at least two")
    if target is not None:
        return check_whole(target, "target", least=0, most=count - 1)
    return int(np.bincount(labels[labels >= 0], minlength=count).argmin())


def _influences(ready: OpenUnit) -> tuple[Influence, ...]:
    """What one report can do, for every question."""
    questions = ready.job.questions
    labels = () if questions.labels is None else (questions.labels,)
    asked = (*questions.features, *questions.classes, *labels)
    return tuple(dict.fromkeys(influence_of(plan) for plan in asked))


def _harms(unit: RunUnit, count: int, target: int) -> tuple[list[Harm], bool]:
    """One run with so many users who push the target, who are careless, and who are placed; and whether all that was sent was forged."""
    ready = open_unit(unit)
    drawn = np.random.default_rng([ready.job.seed, STREAM]).permutation(ready.graph.node_count)[:count]
    harm, forged = _harm(ready, drawn, target)
    if not count:
        return [harm, harm, harm], forged
    # Users answer on a ledger: asking again needs fresh users.
    careless, _ = _harm(open_unit(unit), drawn, target, careless=True)
    heavy = np.argsort(-weights_in_means(ready.graph), kind="stable")[:count]
    placed, _ = _harm(open_unit(unit), heavy, target)
    return [harm, careless, placed], forged


def _harm(
    ready: OpenUnit, liars: NDArray[np.int64], target: int, *, careless: bool = False
) -> tuple[Harm, bool]:
    """What these users bring about, and whether all that they sent was forged."""
    labels, graph = ready.users.raw.labels, ready.graph
    malicious = np.isin(np.arange(graph.node_count), liars)
    direction = class_direction(ready.users.raw.rows(), labels, target)
    users = ForgingUsers(ready.job.users, malicious, target, direction, ready.job.seed, careless=careless)
    with learn.one_thread():
        outcome = ready.method.run(replace(ready.job, users=users))
    score = ready.users.evaluate(outcome.scores, graph)
    assert outcome.scores is not None
    others = graph.test & ~malicious & (labels != target)
    drawn_in = (outcome.scores.argmax(axis=1) == target)[others]
    return Harm(score, float(drawn_in.mean()) if drawn_in.size else 0.0), users.forged
