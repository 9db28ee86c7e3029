"""The card of a result: gains with intervals over held-out users, and one honest sentence."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from graphveil.collect.card import _gain, card_page, verdict
from graphveil.experiments.experiment import Experiment
from graphveil.graphs import load
from graphveil.methods.tasks import Outcome


def learned_with(right, other):
    """A result whose method and control have so many of 100 held-out users right."""
    graph, users = load("town", users=200, seed=0)
    labels = users.raw.labels
    test = np.arange(200) < 100
    graph = replace(graph, labels=np.full(200, -1), train=~test, validation=test & False, test=test)

    def outcome(count):
        predicted = np.where(np.arange(200) < count, labels, (labels + 1) % 4)
        return Outcome(np.eye(4, dtype=np.float32)[predicted], 0.0, 0.0, {})

    parts = {"method": outcome(right), "control": outcome(other)}
    scores = {"method": right / 100, "control": other / 100}
    spec = Experiment.of("base", "town", epsilon=1.0)
    return SimpleNamespace(spec=spec, graph=graph, users=users, parts=parts, scores=scores)


def test_a_gain_has_an_interval_and_there_is_none_without_a_score():
    gain = _gain(learned_with(90, 80), "control")
    # 10 of 100 differ: the standard error is √(0.1 · 0.9 / 99).
    assert gain["mean"] == pytest.approx(0.1)
    assert gain["high"] - gain["low"] == pytest.approx(2 * 1.96 * (0.09 / 99) ** 0.5)
    learned = learned_with(90, 80)
    learned.scores["control"] = None
    assert _gain(learned, "control") is None


def test_a_verdict_says_what_is_clear():
    said = verdict({"control": {"mean": 0.1, "low": 0.05, "high": 0.15}}, 100)
    assert said == (
        "Reports were worth +10.0 points over blinded reports of the same people (+5.0 to +15.0); one run, scored on 100 held-out users."
    )
    both = {
        "control": {"mean": 0.1, "low": 0.05, "high": 0.15},
        "structure": {"mean": 0.1, "low": -0.01, "high": 0.2},
    }
    assert verdict(both, 100).startswith("Reports were not clearly worth anything: +10.0 points over blinded")
    assert "nothing was held out" in verdict({"control": None}, 0)


def test_a_page_without_scores_says_that_they_are_not_known():
    card = {
        "method": "base",
        "purpose": "<b>to test</b>",
        "verdict": "",
        "version": "1",
        "seed": 0,
        "collection": "00",
        "labels": {"train": 1, "validation": 1, "held_out": 0, "reported": True},
        "scores": {"method": None, "control": None},
        "gains": {"control": None},
        "metric": "accuracy",
        "epsilon": 1.0,
        "users": 3,
        "enrolled": 2,
        "asked": 2,
        "answered": 1,
        "panel": False,
        "model": None,
        "volunteers": 0,
        "questions": [],
        "collection_spent": {"epsilon": 1.0, "delta": 0.0},
        "statement": "",
        "contributors": "ab",
    }
    page = card_page(card)
    assert "The model" not in page
    assert "not known" in page and "&lt;b&gt;" in page and "<b>to" not in page
