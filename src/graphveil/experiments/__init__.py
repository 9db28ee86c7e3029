"""Experiments: runs with their controls, what they say together, how it is shown, the search for settings, and embeddings."""

from graphveil.experiments.embeddings.embedding import Embedding, embed, embed_spec, read_embedding
from graphveil.experiments.runs.model import Model, train_model
from graphveil.experiments.runs.model_file import load_model, save
from graphveil.experiments.runs.predictions import Predictions, predict, predict_spec
from graphveil.experiments.runs.records import Record, ResultStore, read_results
from graphveil.experiments.runs.result import Result
from graphveil.experiments.runs.runner import run, run_spec
from graphveil.experiments.runs.statistics import Summary, bootstrap, paired_gain, t_interval, verdict
from graphveil.experiments.runs.unit_store import UnitStore
from graphveil.experiments.show.report import write_report
from graphveil.experiments.show.result_figure import draw_scores
from graphveil.experiments.show.run_figures import RUN_FIGURES
from graphveil.experiments.specs.settings_file import read_settings
from graphveil.experiments.specs.spec import Spec
from graphveil.experiments.sweeps.result import SweepResult
from graphveil.experiments.sweeps.run_sweep import sweep
from graphveil.experiments.tuning.settings_file import write_settings
from graphveil.experiments.tuning.trials import TrialStore
from graphveil.experiments.tuning.tuner import Tuned, tune, tune_spec

__all__ = [
    "RUN_FIGURES",
    "Embedding",
    "Model",
    "Predictions",
    "Record",
    "Result",
    "ResultStore",
    "Spec",
    "Summary",
    "SweepResult",
    "TrialStore",
    "Tuned",
    "UnitStore",
    "bootstrap",
    "draw_scores",
    "embed",
    "embed_spec",
    "load_model",
    "paired_gain",
    "predict",
    "predict_spec",
    "read_embedding",
    "read_results",
    "read_settings",
    "run",
    "run_spec",
    "save",
    "sweep",
    "t_interval",
    "train_model",
    "tune",
    "tune_spec",
    "verdict",
    "write_report",
    "write_settings",
]
