"""Methods: one file a system. Importing this package registers all of them."""

from graphveil.methods import (
    base,
    heterorr,
    ldpge,
    lpgnn,
    nonprivate,
    ppgnn,
    solitude,
    structure,
    togl,
    upgnet,
    veil,
)
from graphveil.methods import ldpge as ldpge_raw
from graphveil.methods.check import check_method, method_checks
from graphveil.methods.job import Job
from graphveil.methods.method import (
    BACKBONE_NAMES,
    Method,
    Settings,
    all_method_names,
    find_method,
    load_method,
    method_names,
    register_method,
)
from graphveil.methods.structure import StructureSettings
from graphveil.methods.structure_posterior import Posterior, structure_posterior
from graphveil.methods.tasks import Outcome, Stopwatch
from graphveil.methods.training import train_backbone

__all__ = [
    "BACKBONE_NAMES",
    "Job",
    "Method",
    "Outcome",
    "Posterior",
    "Settings",
    "Stopwatch",
    "StructureSettings",
    "all_method_names",
    "base",
    "check_method",
    "find_method",
    "heterorr",
    "ldpge",
    "ldpge_raw",
    "load_method",
    "lpgnn",
    "method_checks",
    "method_names",
    "nonprivate",
    "ppgnn",
    "register_method",
    "solitude",
    "structure",
    "structure_posterior",
    "togl",
    "train_backbone",
    "upgnet",
    "veil",
]
