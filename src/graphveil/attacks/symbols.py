"""Label and level inference: which class or which privacy level a user has, from what users report."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil.attacks.game import (
    Deal,
    Floats,
    MechanismAttack,
    Natural,
    Numbers,
    Reporting,
    Stakes,
    balanced,
    channel_logs,
    check_one_class,
    draw_reports,
    features_mechanism,
    likeliest,
    named_values,
    naturals,
)
from graphveil.channels.channel import FiniteChannel
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.mechanisms import (
    LabelMechanism,
    LevelMechanism,
    Mechanism,
    PersonalMechanism,
    Reports,
    entry,
    mechanism,
)
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.personal_losses import Way
from graphveil.mechanisms.registry import takes_levels
from graphveil.mechanisms.rows import Rows

# No class counts as rarer than this beside another: what is fitted to noise may come out below 0.
RAREST = 1e-3
# Levels where a mechanism that reports nothing else is not told how many there are.
LEVELS = 4


class LabelAttack(MechanismAttack):
    """Everybody draws a class, all equally likely, and it is guessed from the report by Bayes. k-ary response reaches the bound."""

    name: ClassVar[str] = "label"
    summary: ClassVar[str] = "the class of a user, from the own report and from those of neighbours"
    subjects: ClassVar[tuple[Subject, ...]] = ("label",)
    mechanism: ClassVar[str] = "krr"
    unit: ClassVar[str] = "the label of one user"
    game: ClassVar[str] = (
        "everybody draws a class, all equally likely; the attacker sees the report; in the control reports are blind"
    )

    def build(self, name: str, epsilon: float, graph: Graph, seed: int, options: dict[str, Any]) -> Mechanism:
        """Build a mechanism for the classes of a graph.

        Parameters
        ----------
        name, epsilon, graph, seed, options
            As in `MechanismAttack.build`.
        """
        check_one_class(graph)
        return mechanism(name, epsilon=epsilon, classes=graph.class_count, **options)

    def deal(self, target: Reporting, seed: int, dice: np.random.Generator) -> Deal:
        """Draw a class for everybody.

        Parameters
        ----------
        target, seed, dice
            As in `Attack.deal`.
        """
        assert isinstance(target.mechanism, LabelMechanism)
        logs, pair = np.log(target.mechanism.transition), target.pair
        classes = dice.integers(0, len(logs), len(target.users))

        def guess(control: bool) -> Numbers:
            return likeliest(logs[:, draw_reports(pair[control], classes, seed).codes].T, dice)

        stakes = Stakes(len(logs), target.mechanism.claim.epsilon)
        return Deal(stakes, classes, guess, lambda: _natural_labels(target, seed, dice))


def _natural_labels(target: Reporting, seed: int, dice: np.random.Generator) -> dict[str, Natural]:
    """Real classes; in the control one's own report is blind, and neighbours' are what they are."""
    assert isinstance(target.mechanism, LabelMechanism)
    labels, transition = target.users.raw.labels, target.mechanism.transition
    real, blind = (draw_reports(each, labels, seed).codes.astype(np.int64) for each in target.pair)
    known = labels >= 0
    logs, around = np.log(transition), neighbour_scores(transition, target.graph, real)
    found = {}
    for name, more in (("own report", 0.0), ("own report and neighbours, Bayes", around)):
        pair = [
            balanced(likeliest(logs[:, own].T + more, dice)[known], labels[known]) for own in (real, blind)
        ]
        found[name] = (pair[0], pair[1])
    return naturals(found)


def neighbour_scores(transition: Floats, graph: Graph, codes: Numbers) -> Floats:
    """Return Σ over neighbours of log P[their report | one's class]: (users, classes).

    How often two linked users have two classes is fitted to the reports: of what pairs report, the noise is
    taken out as it is from one report, J = T⁻ᵀ·J'·T⁻¹, and what comes out below 0 counts as next to nothing.

    Parameters
    ----------
    transition
        T, the chance of each report given each class: (classes, classes).
    codes
        The reported class of each user: (users,) int64.
    """
    count = len(transition)
    ends = graph.edge_list()
    pairs = np.bincount(codes[ends[0]] * count + codes[ends[1]], minlength=count * count).reshape(
        count, count
    )
    inverse = np.linalg.inv(transition)
    joint = inverse.T @ (pairs / max(pairs.sum(), 1)) @ inverse
    joint = np.maximum(joint, RAREST * max(float(joint.max()), RAREST))
    beside = joint / joint.sum(axis=1, keepdims=True)
    logs = np.log(beside @ transition)
    scores = np.zeros((graph.node_count, count))
    np.add.at(scores, ends[0], logs[:, codes[ends[1]]].T)
    return scores


class LevelAttack(MechanismAttack):
    """Everybody draws a level, all equally likely, and it is guessed from the whole report by Bayes.

    The attacker knows the user's row. What a report tells of the level is its randomized level, how many values are answered, and
    how well the answers fit the row. As printed, `ppm-printed` also sends magnitudes that are each level's own. The ε of the bound
    is what the mechanism says of its level, the exact loss of whole reports between two levels with equal rows; of a mechanism where there
    is no such ε, it is what the level is claimed to be randomized at.
    """

    name: ClassVar[str] = "level"
    summary: ClassVar[str] = "the privacy level that a user chose, from the report"
    subjects: ClassVar[tuple[Subject, ...]] = ("features", "level")
    mechanism: ClassVar[str] = "ppm"
    unit: ClassVar[str] = "the level of one user, at what a whole report tells of it where the row is known"
    game: ClassVar[str] = (
        "everybody draws a level, all equally likely; the attacker sees the report and knows the row; in the control reports are those of "
        "levels drawn anew"
    )

    def check(self, name: str) -> None:
        if entry(name).subject != "level" and not takes_levels(name):
            raise InputError(
                f"{name} asks nobody for a privacy level, so there is none to infer: take ppm, ppm-printed or esw"
            )

    def build(self, name: str, epsilon: float, graph: Graph, seed: int, options: dict[str, Any]) -> Mechanism:
        """Build a mechanism that reports levels, or features by levels.

        Parameters
        ----------
        name, epsilon, graph, seed, options
            As in `MechanismAttack.build`.
        """
        if entry(name).subject == "level":
            return mechanism(name, epsilon=epsilon, **{"levels": LEVELS, **options})
        self.check(name)
        return features_mechanism(name, epsilon, graph, options)

    def deal(self, target: Reporting, seed: int, dice: np.random.Generator) -> Deal:
        """Draw a level for everybody.

        Parameters
        ----------
        target, seed, dice
            As in `Attack.deal`.
        """
        mechanism, stakes = target.mechanism, level_stakes(target.mechanism)
        rows = target.users.raw.rows() if mechanism.budgets else None
        levels, others = (dice.integers(1, stakes.values + 1, len(target.users)) for _ in range(2))

        def guess(control: bool) -> Numbers:
            reports = draw_reports(mechanism, rows, seed, levels=others if control else levels)
            return likeliest(report_likelihoods(mechanism, reports, rows), dice) + 1

        return Deal(stakes, levels, guess)


def level_stakes(mechanism: Mechanism) -> Stakes:
    """One of all levels, at what a report tells of them: exactly, or as claimed where there is no end to what it tells."""
    if not isinstance(mechanism, PersonalMechanism):
        return Stakes(_level_channel(mechanism).input_count, mechanism.claim.epsilon)
    exact = mechanism.level_loss.epsilon
    claimed = mechanism.level_channel.claim.epsilon
    return Stakes(len(mechanism.budgets), exact if math.isfinite(exact) else claimed)


def _level_channel(mechanism: Mechanism) -> FiniteChannel:
    assert isinstance(mechanism, LevelMechanism)
    return mechanism.channel


def report_likelihoods(mechanism: Mechanism, reports: Reports, rows: Any) -> Floats:
    """Return log P[report | level, row], (users, levels); what both have in common is left out.

    Parameters
    ----------
    reports
        One report a user.
    rows
        The users' rows: (users, features).
    """
    if not isinstance(mechanism, PersonalMechanism):
        return channel_logs(_level_channel(mechanism))[:, reports.codes].T
    codes = reports.codes.reshape(reports.users, mechanism.shape.length).astype(np.int64)
    answers, named = codes[:, :-1], codes[:, -1]
    values = mechanism.public.to_unit(Rows(rows, mechanism.size).take(named_values(mechanism, reports)))
    likely = np.empty((reports.users, len(mechanism.budgets)))
    levels = channel_logs(mechanism.level_channel)
    for code in np.unique(named).tolist():
        mine = np.flatnonzero(named == code)
        for level, ways in enumerate(mechanism.ways):
            of_values = _way_likelihoods(ways[code], answers[mine], values[mine], mechanism)
            likely[mine, level] = levels[level, code] + of_values
    return likely


def _way_likelihoods(
    way: Way, codes: NDArray[np.int64], values: Floats, mechanism: PersonalMechanism
) -> Floats:
    """log P[answers | values] of users who answer in one way; minus infinity where nobody does who answers so."""
    answered = codes != mechanism.blank
    own = codes - way.first
    fits = (own >= 0) & (own < way.channel.output_count)
    possible = (answered.sum(axis=1) == way.count) & (fits | ~answered).all(axis=1)
    table = np.exp(channel_logs(way.channel))
    lower, share = _between(values, way.channel, mechanism.binary)
    code = np.where(answered & fits, own, 0)
    upper = np.minimum(lower + 1, len(table) - 1)
    chance = (1 - share) * table[lower, code] + share * table[upper, code]
    logs = np.where(answered, np.log(np.maximum(chance, 1e-300)), 0.0).sum(axis=1)
    # Which of the named values are answered is drawn, all choices equally likely.
    logs -= math.log(math.comb(codes.shape[1], way.count))
    return np.where(possible, logs, -np.inf)


def _between(values: Floats, channel: FiniteChannel, binary: bool) -> tuple[Numbers, Floats]:
    """Values of [-1, 1] as the input below and how likely each is rounded up to the next."""
    if binary:
        return (values > 0).astype(np.int64), np.zeros(values.shape)
    inputs = channel.inputs
    lower = np.clip(np.searchsorted(inputs, values, side="right") - 1, 0, len(inputs) - 2)
    return lower, (values - inputs[lower]) / (inputs[lower + 1] - inputs[lower])
