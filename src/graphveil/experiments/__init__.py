"""Experiments: runs with their controls, what they say together, how it is shown, the search for settings, and embeddings.

A module is loaded when one of its names is first used.
"""

# ruff: noqa: F401
from typing import TYPE_CHECKING

from graphveil.lazy import lazy_names

if TYPE_CHECKING:
    from graphveil.experiments.artefacts import (
        Embedding,
        Predictions,
        embed,
        embed_experiment,
        predict,
        predict_experiment,
        read_embedding,
    )
    from graphveil.experiments.drawings import RUN_FIGURES
    from graphveil.experiments.experiment import Experiment
    from graphveil.experiments.experiment_file import read_settings
    from graphveil.experiments.model import Model, load_model, save, train_model
    from graphveil.experiments.report import write_report
    from graphveil.experiments.result import Result, StoredResult
    from graphveil.experiments.results import read_results
    from graphveil.experiments.runner import RunOptions, StudyWatcher, run, run_experiment, sweep
    from graphveil.experiments.store import ResultStore
    from graphveil.experiments.study_result import StudyResult
    from graphveil.experiments.tuning import TuningResult, tune, tune_experiment, write_settings
    from graphveil.statistics import Summary, bootstrap, paired_gain, t_interval, verdict
else:
    __getattr__, __dir__ = lazy_names(__name__, __file__)
