"""Experiments that would take too long in full, where every user answers every value of a large graph, and quick ones."""

from __future__ import annotations

from dataclasses import replace

from graphveil.experiments.specs.spec import Spec

# Where users and features come to more than so many entries, and each of them is answered, a run takes many minutes.
MOST_ENTRIES = 20_000_000
SHORT_EPOCHS = 100
SHORT = f"one run of at most {SHORT_EPOCHS} epochs, as every user answers every value; --all takes all runs"
# Enough to see that it works, not to compare: epochs, and steps a user where a walk finds a dendrogram of links.
QUICK_EPOCHS, QUICK_STEPS = 5, 100
WALKS = ("edgerr", "privhrg")


def shortened(spec: Spec) -> Spec:
    """The same experiment in one run of few epochs."""
    return _cut(spec, 1, SHORT_EPOCHS)


def quickened(spec: Spec, runs: int = 1) -> Spec:
    """The same experiment, just to see that it works."""
    spec = _cut(spec, runs, QUICK_EPOCHS)
    if spec.budgets.link_mechanism not in WALKS or not spec.budgets.private_links:
        return spec
    return replace(spec, settings={**spec.settings, "link.sweeps": QUICK_STEPS})


def _cut(spec: Spec, runs: int, most: int) -> Spec:
    epochs = min(most, spec.full_settings().epochs)
    return replace(spec, runs=runs, settings={**spec.settings, "epochs": epochs})
