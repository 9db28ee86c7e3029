"""Experiments: runs with their controls, what they say together, how it is shown, the search for settings, and embeddings."""

from graphveil.experiments.drawings import RUN_FIGURES
from graphveil.experiments.embedding import Embedding, embed, embed_experiment, read_embedding
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.experiment_file import read_settings
from graphveil.experiments.model import Model, load_model, save, train_model
from graphveil.experiments.predictions import Predictions, predict, predict_experiment
from graphveil.experiments.report import write_report
from graphveil.experiments.result import Result
from graphveil.experiments.result_store import ResultStore, StoredResult, read_results
from graphveil.experiments.runner import run, run_experiment
from graphveil.experiments.study_result import StudyResult
from graphveil.experiments.study_runner import sweep
from graphveil.experiments.tuning import TrialStore, TuningResult, tune, tune_experiment, write_settings
from graphveil.experiments.unit_store import UnitStore
from graphveil.statistics import Summary, bootstrap, paired_gain, t_interval, verdict

__all__ = [
    "RUN_FIGURES",
    "Embedding",
    "Experiment",
    "Model",
    "Predictions",
    "Result",
    "ResultStore",
    "StoredResult",
    "StudyResult",
    "Summary",
    "TrialStore",
    "TuningResult",
    "UnitStore",
    "bootstrap",
    "embed",
    "embed_experiment",
    "load_model",
    "paired_gain",
    "predict",
    "predict_experiment",
    "read_embedding",
    "read_results",
    "read_settings",
    "run",
    "run_experiment",
    "save",
    "sweep",
    "t_interval",
    "train_model",
    "tune",
    "tune_experiment",
    "verdict",
    "write_report",
    "write_settings",
]
