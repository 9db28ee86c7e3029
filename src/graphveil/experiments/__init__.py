"""Experiments: runs with their controls, what they say together, and how it is shown."""

from graphveil.experiments.result import Result
from graphveil.experiments.runner import run, run_spec
from graphveil.experiments.spec import Spec
from graphveil.experiments.statistics import Summary, bootstrap, paired_gain, verdict
from graphveil.experiments.store import UnitStore

__all__ = ["Result", "Spec", "Summary", "UnitStore", "bootstrap", "paired_gain", "run", "run_spec", "verdict"]
