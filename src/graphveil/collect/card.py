"""The card of a result: what was collected, at which ε, from how many, and what it was worth beside control and structure."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import digest
from graphveil.collect.learning import Replayed
from graphveil.collect.study import Learned
from graphveil.experiments.experiment import Part
from graphveil.number_format import counted
from graphveil.version import __version__

FORMAT = "graphveil-card-1"
# 95 of 100 means of many numbers lie within so many standard errors.
NORMAL = 1.96
# The file of the trained model beside the card, where there is one.
MODEL_FILE = "model.pt"
# What stands beside the method, as a sentence calls it.
BESIDE: dict[Part, str] = {
    "control": "blinded reports of the same people",
    "structure": "graph and known labels alone",
    "unasked": "volunteers' rows alone",
}


class Described(Protocol):
    """What a card says of the collection itself."""

    @property
    def id(self) -> str:
        """Its number."""

    @property
    def purpose(self) -> str:
        """What people were told that it is for."""


def result_card(learned: Learned, collection: Described) -> dict[str, Any]:
    """Everything that is known of a result besides the result itself, as JSON has it."""
    spec, graph, scores = learned.spec, learned.graph, learned.scores
    privacy = learned.privacy()
    spent = learned.books.total()
    gains = {part: _gain(learned, part) for part in BESIDE if part in scores}
    return {
        "format": FORMAT,
        "collection": collection.id,
        "purpose": collection.purpose,
        "study": learned.study,
        "method": spec.method,
        "task": spec.task,
        "metric": spec.resolved_task.metric(graph),
        "epsilon": spec.budgets.epsilon,
        "mechanism": spec.budgets.mechanism if spec.resolved_method.reports_features else None,
        "backbone": spec.backbone,
        "seed": spec.seed,
        "settings": {key: str(value) for key, value in spec.resolved_settings.model_dump().items()},
        "version": __version__,
        "detail": learned.outcome.detail,
        "model": None if learned.model is None else MODEL_FILE,
        "scores": dict(scores),
        "gains": gains,
        "verdict": verdict(gains, int(graph.test.sum())),
        "labels": {
            "train": int(graph.train.sum()),
            "validation": int(graph.validation.sum()),
            "held_out": int(graph.test.sum()),
            "reported": spec.budgets.private_labels,
        },
        "users": graph.node_count,
        "enrolled": learned.enrolled,
        "asked": int(learned.ledger.ever_asked.sum()),
        "answered": len(learned.answered),
        "volunteers": 0 if learned.volunteers is None else len(learned.volunteers),
        "panel": learned.volunteers is not None,
        "rounds": sorted({each.round.number for each in learned.replayed}),
        "questions": [_question(each) for each in learned.replayed],
        "privacy": privacy.to_dict(),
        "statement": privacy.sentence,
        "collection_spent": {"epsilon": spent.epsilon, "delta": spent.delta},
        "contributors": digest(learned.contributors),
    }


def verdict(gains: dict[Part, dict[str, float | None] | None], held_out: int) -> str:
    """What reports were worth, in one sentence."""
    told = {part: gain for part, gain in gains.items() if gain is not None}
    if not told:
        return "What reports were worth is not known: nothing was held out to measure it."
    parts = [
        f"{_points(gain['mean'])} points over {BESIDE[part]}{_interval(gain)}" for part, gain in told.items()
    ]
    clear = all((gain["low"] or 0.0) > 0 for gain in told.values())
    start = "Reports were worth" if clear else "Reports were not clearly worth anything:"
    return f"{start} {', '.join(parts)}; one run, scored on {counted(held_out, 'held-out user')}."


def _interval(gain: dict[str, float | None]) -> str:
    if gain["low"] is None:
        return ""
    return f" ({_points(gain['low'])} to {_points(gain['high'])})"


def _points(share: float | None) -> str:
    return f"{100 * (share or 0.0):+.1f}"


def _question(replayed: Replayed) -> dict[str, Any]:
    """One question: what was asked, by what, at which exact ε, of how many."""
    each = replayed.round
    plan, built = each.plan, each.plan.build()
    exact = built.epsilon if built.finite and math.isfinite(built.epsilon) else None
    return {
        "round": each.number,
        "subject": plan.subject,
        "of": plan.of,
        "mechanism": plan.mechanism,
        "epsilon": plan.claim.epsilon,
        "delta": plan.claim.delta,
        "exact": exact,
        "asked": len(each.asked),
        "answered": replayed.reports.users,
        "as_asked": plan == replayed.plan,
        "digest": each.digest,
        "fingerprint": built.fingerprint,
    }


def _gain(learned: Learned, part: Part) -> dict[str, float | None] | None:
    """How much better the method is than a part, with an interval over held-out users where each is right or wrong.

    The interval says how much it depends on who was held out, not on the noise, which was drawn once.
    """
    own, other = learned.scores["method"], learned.scores[part]
    if own is None or other is None:
        return None
    gain: dict[str, float | None] = {"mean": own - other, "low": None, "high": None}
    if (
        learned.spec.resolved_task.learns_labels
        and learned.graph.metric == "accuracy"
        and not learned.graph.multilabel
    ):
        apart = _right(learned, "method") - _right(learned, part)
        if len(apart) > 1:
            error = NORMAL * float(apart.std(ddof=1)) / math.sqrt(len(apart))
            gain |= {"low": own - other - error, "high": own - other + error}
    return gain


def _right(learned: Learned, part: Part) -> NDArray[np.float64]:
    """1 for every held-out user whose class a part has right, 0 for the others."""
    scores = learned.parts[part].scores
    assert scores is not None
    held_out = learned.graph.test
    right = scores.argmax(axis=1) == learned.users.raw.labels
    return np.asarray(right[held_out], dtype=np.float64)
