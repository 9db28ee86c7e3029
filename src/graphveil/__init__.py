"""graphveil: learn from a social graph without ever collecting a feature vector.

>>> import graphveil as gv
>>> gv.channels.square_wave(1.0).epsilon <= 1.0
True
>>> multibit = gv.mechanism("multibit", epsilon=1.0, dims=4, range=(0, 1))
>>> reports = multibit.randomize([[0, 1, 1, 0], [1, 0, 0, 0]])
>>> reports.users, reports.codes.dtype.name
(2, 'uint8')
"""

# ruff: noqa: I001 -- names that are exported stand with their modules
import sys
from types import ModuleType

from graphveil.lazy import lazy_names

TYPE_CHECKING = False
# Everything is imported when it is first used.
if TYPE_CHECKING:
    from graphveil import channels as channels, errors as errors, mechanisms as mechanisms, privacy as privacy
    from graphveil.channels import Channel as Channel, Claim as Claim
    from graphveil.channels import SeededBits as SeededBits, SystemBits as SystemBits
    from graphveil.channels.sampling import SeededWords as SeededWords, SystemWords as SystemWords
    from graphveil.errors import BudgetError as BudgetError, ClaimError as ClaimError
    from graphveil.errors import ClippedWarning as ClippedWarning, GraphveilError as GraphveilError
    from graphveil.errors import InputError as InputError, MessageError as MessageError
    from graphveil.errors import PrivacyError as PrivacyError
    from graphveil.mechanisms import Estimate as Estimate, FeatureMechanism as FeatureMechanism
    from graphveil.mechanisms import Mechanism as Mechanism, Reports as Reports
    from graphveil.mechanisms import feature_family as feature_family, mechanism as mechanism
    from graphveil.mechanisms import register as register
    from graphveil.privacy import Ledger as Ledger, Plan as Plan, answer as answer
    from graphveil.version import __version__ as __version__
    from graphveil import experiments as experiments, graphs as graphs, learn as learn
    from graphveil import methods as methods, pyg as pyg
    from graphveil.audit import Audit as Audit, audit as audit, check_mechanism as check_mechanism
    from graphveil.experiments import Embedding as Embedding, Model as Model
    from graphveil.experiments import Predictions as Predictions, Result as Result
    from graphveil.experiments import embed as embed, load_model as load_model, predict as predict
    from graphveil.experiments import read_embedding as read_embedding, run as run, save as save
    from graphveil.experiments import sweep as sweep, tune as tune
    from graphveil.graphs import Graph as Graph, Users as Users, from_arrays as from_arrays
    from graphveil.graphs import from_networkx as from_networkx, from_pyg as from_pyg
    from graphveil.graphs import load as load, to_pyg as to_pyg
else:
    __getattr__, __dir__ = lazy_names(__name__, __file__)


class _Package(ModuleType):
    """The package: its ``audit`` is the function, also when the package of that name has been imported."""

    @property
    def audit(self) -> object:
        from graphveil.audit import audit

        return audit

    @audit.setter
    def audit(self, package: ModuleType) -> None:
        """Leave the name to the function where the import system gives it to the package."""


sys.modules[__name__].__class__ = _Package
