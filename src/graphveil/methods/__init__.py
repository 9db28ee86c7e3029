"""Methods: one file a system. Importing this package registers all of them."""

from graphveil.methods import base, ldpge, lpgnn, nonprivate, ppgnn, solitude, structure, togl, upgnet
from graphveil.methods.check import check_method, method_checks
from graphveil.methods.method import (
    BACKBONE_NAMES,
    Job,
    Method,
    Outcome,
    Settings,
    find_method,
    method_names,
    register_method,
)

__all__ = [
    "BACKBONE_NAMES",
    "Job",
    "Method",
    "Outcome",
    "Settings",
    "base",
    "check_method",
    "find_method",
    "ldpge",
    "lpgnn",
    "method_checks",
    "method_names",
    "nonprivate",
    "ppgnn",
    "register_method",
    "solitude",
    "structure",
    "togl",
    "upgnet",
]
