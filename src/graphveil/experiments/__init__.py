"""Experiments: runs with their controls, what they say together, and how it is shown."""

from graphveil.experiments.report import write_report
from graphveil.experiments.result import Result
from graphveil.experiments.results import Record, ResultStore, read_results
from graphveil.experiments.runner import run, run_spec
from graphveil.experiments.spec import Spec
from graphveil.experiments.statistics import Summary, bootstrap, paired_gain, verdict
from graphveil.experiments.store import UnitStore

__all__ = [
    "Record",
    "Result",
    "ResultStore",
    "Spec",
    "Summary",
    "UnitStore",
    "bootstrap",
    "paired_gain",
    "read_results",
    "run",
    "run_spec",
    "verdict",
    "write_report",
]
