"""The suite of a method as parameters: one test a trial, whose checks share what was learned."""

from __future__ import annotations

from typing import Any

import pytest

from graphveil.methods import METHODS, method_checks
from graphveil.methods.check import trials_of
from graphveil.suites import run_checks

# The trial of each task whose checks see the most: users who are silent, and links of which only reports are known.
SHORT = ("classes, a third silent", "links from private ones")
# Besides its defaults a method is tried with these settings: in the trials that they may change, and in tests/slow in all.
FORMS: dict[str, tuple[tuple[str, ...], list[dict[str, Any]]]] = {
    "lpgnn": (
        ("private labels", "private links and labels, a third silent"),
        [{"label_loss": loss, "drop_hops": 3} for loss in ("drop", "forward", "plain")],
    ),
    "ldpge": (SHORT, [{"alpha": 0.3, "r": 0.5, "k": 5}, {"decoder": "dot"}]),
    "upgnet": (
        SHORT,
        [
            {"order": "H-N", "hops": 2},
            {"order": "H-N", "hops": 8},
            {"variant": "code"},
            {"aggregator": "kprop"},
            {"aggregator": "residual"},
            {"aggregator": "adaptive"},
            {"aggregator": "adaptive", "order": "H-N", "hops": 2},
            {"regularizer": "dropout", "tau": 0.5},
            {"regularizer": "group-lasso", "tau": 0.9},
            {"regularizer": "weight-lasso", "tau": 0.5},
            {"hops": 64},
        ],
    ),
    "ppgnn": (SHORT, [{"weights": "printed"}, {"aggregator": "kprop"}, {"hops": 0}]),
    # The second question is another one here.
    "togl": (
        tuple(
            f"{trial}{silent}"
            for trial in ("classes", "norms", "private links")
            for silent in ("", ", a third silent")
        ),
        [{"pool": "top", "learn_from": "second", "columns": "unbiased", "hops": 0}],
    ),
    "heterorr": (
        ("classes", "classes, a third silent", "links from private ones", "norms"),
        [
            {"importance": "flat", "decoding": "printed", "keep": "all", "hops": 0},
            {"learn_from": "second", "keep": 5},
        ],
    ),
}


def every_trial(name: str, **settings: Any) -> list[Any]:
    """The parameters of `run_trial`, one for each trial of a method with these settings."""
    title = ", ".join([name, *(f"{key}={value}" for key, value in settings.items())])
    trials = trials_of(METHODS.find(name), settings)
    return [pytest.param(name, settings, trial, id=f"{title}: {trial}") for trial in trials]


def chosen_trials(name: str) -> list[Any]:
    """The same for the other settings of a method, in the trials that they may change."""
    trials, forms = FORMS[name]
    return [each for settings in forms for each in every_trial(name, **settings) if each.values[2] in trials]


def run_trial(name: str, settings: dict[str, Any], trial: str) -> None:
    """Run all checks of one trial, and name those that fail."""
    checks = method_checks(name, **settings)
    run_checks(f"{name}, {trial}", [each for each in checks if each.name.startswith(f"{trial}: ")])
