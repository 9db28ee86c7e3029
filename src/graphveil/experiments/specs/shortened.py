"""Experiments that would take too long in full: every user answers every value of a large graph."""

from __future__ import annotations

from dataclasses import replace

from graphveil.experiments.specs.spec import Spec

# Where users and features come to more than so many entries, and each of them is answered, a run takes many minutes.
MOST_ENTRIES = 20_000_000
SHORT_EPOCHS = 100
SHORT = f"one run of at most {SHORT_EPOCHS} epochs, as every user answers every value; --all takes all runs"


def shortened(spec: Spec) -> Spec:
    """The same experiment in one run of few epochs."""
    epochs = min(SHORT_EPOCHS, spec.full_settings().epochs)
    return replace(spec, runs=1, settings={**spec.settings, "epochs": epochs})
