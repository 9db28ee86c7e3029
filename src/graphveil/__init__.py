"""graphveil: learn from a social graph without ever collecting a feature vector.

>>> import graphveil as gv
>>> gv.channels.square_wave(1.0).epsilon <= 1.0
True
>>> multibit = gv.mechanism("multibit", epsilon=1.0, dims=4, range=(0, 1))
>>> reports = multibit.randomize([[0, 1, 1, 0], [1, 0, 0, 0]])
>>> reports.users, reports.codes.dtype.name
(2, 'uint8')
"""

from typing import TYPE_CHECKING

from graphveil.lazy import lazy_names
from graphveil.starting import starting

with starting():
    from graphveil import channels, errors, mechanisms, privacy
    from graphveil.audit import audit
    from graphveil.channels import Channel, Claim, SeededWords, SystemWords
    from graphveil.errors import (
        BudgetError,
        ClaimError,
        ClippedWarning,
        GraphveilError,
        InputError,
        MessageError,
        PrivacyError,
    )
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
    from graphveil.version import __version__

# What a client does not need is imported when it is first used.
if TYPE_CHECKING:
    from graphveil import experiments, graphs, learn, methods, pyg
    from graphveil.audit import Audit, check_mechanism
    from graphveil.experiments import (
        Embedding,
        Model,
        Predictions,
        Result,
        embed,
        load_model,
        predict,
        read_embedding,
        run,
        save,
        sweep,
        tune,
    )
    from graphveil.graphs import Graph, Users, from_arrays, from_networkx, from_pyg, load, to_pyg

else:
    __getattr__, _, _ = lazy_names(__name__, __file__)

__all__ = [
    "Audit",
    "BudgetError",
    "Channel",
    "Claim",
    "ClaimError",
    "ClippedWarning",
    "Embedding",
    "Estimate",
    "FeatureMechanism",
    "Graph",
    "GraphveilError",
    "InputError",
    "Ledger",
    "Mechanism",
    "MessageError",
    "Model",
    "Plan",
    "Predictions",
    "PrivacyError",
    "Reports",
    "Result",
    "SeededWords",
    "SystemWords",
    "Users",
    "__version__",
    "answer",
    "audit",
    "channels",
    "check_mechanism",
    "embed",
    "errors",
    "experiments",
    "feature_family",
    "from_arrays",
    "from_networkx",
    "from_pyg",
    "graphs",
    "learn",
    "load",
    "load_model",
    "mechanism",
    "mechanisms",
    "methods",
    "predict",
    "privacy",
    "pyg",
    "read_embedding",
    "register",
    "run",
    "save",
    "sweep",
    "to_pyg",
    "tune",
]


def __dir__() -> list[str]:
    return sorted(__all__)
