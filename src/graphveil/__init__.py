"""graphveil: learn from a social graph without ever collecting a feature vector.

>>> import graphveil as gv
>>> gv.channels.square_wave(1.0).epsilon <= 1.0
True
>>> multibit = gv.mechanism("multibit", epsilon=1.0, dims=4, range=(0, 1))
>>> reports = multibit.randomize([[0, 1, 1, 0], [1, 0, 0, 0]])
>>> reports.users, reports.codes.dtype.name
(2, 'uint8')
"""

from graphveil import channels, errors, mechanisms, privacy
from graphveil.channels import Channel, Claim, SeededWords, SystemWords
from graphveil.errors import BudgetError, ClaimError, ClippedWarning, GraphveilError, InputError, MessageError
from graphveil.mechanisms import (
    Estimate,
    FeatureMechanism,
    Mechanism,
    Reports,
    feature_family,
    mechanism,
    register,
)
from graphveil.privacy import Ledger, Plan, answer

__version__ = "0.1.0"

__all__ = [
    "BudgetError",
    "Channel",
    "Claim",
    "ClaimError",
    "ClippedWarning",
    "Estimate",
    "FeatureMechanism",
    "GraphveilError",
    "InputError",
    "Ledger",
    "Mechanism",
    "MessageError",
    "Plan",
    "Reports",
    "SeededWords",
    "SystemWords",
    "__version__",
    "answer",
    "channels",
    "errors",
    "feature_family",
    "mechanism",
    "mechanisms",
    "privacy",
    "register",
]
