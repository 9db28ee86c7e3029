"""Experiments: runs with their controls, what they say together, how it is shown, the search for settings, and embeddings."""

from graphveil.experiments.embedding import Embedding, embed, embed_spec, read_embedding
from graphveil.experiments.report import write_report
from graphveil.experiments.result import Result
from graphveil.experiments.results import Record, ResultStore, read_results
from graphveil.experiments.runner import run, run_spec
from graphveil.experiments.settings_file import read_settings, write_settings
from graphveil.experiments.spec import Spec
from graphveil.experiments.statistics import Summary, bootstrap, paired_gain, t_interval, verdict
from graphveil.experiments.store import UnitStore
from graphveil.experiments.trials import TrialStore
from graphveil.experiments.tuner import Tuned, tune, tune_spec

__all__ = [
    "Embedding",
    "Record",
    "Result",
    "ResultStore",
    "Spec",
    "Summary",
    "TrialStore",
    "Tuned",
    "UnitStore",
    "bootstrap",
    "embed",
    "embed_spec",
    "paired_gain",
    "read_embedding",
    "read_results",
    "read_settings",
    "run",
    "run_spec",
    "t_interval",
    "tune",
    "tune_spec",
    "verdict",
    "write_report",
    "write_settings",
]
