"""Methods: one file a system. Importing this package registers all of them."""

from graphveil.methods.base import Base
from graphveil.methods.check import check_method, method_checks
from graphveil.methods.heterorr import Heterorr
from graphveil.methods.job import Job, feature_plan, questions_of
from graphveil.methods.ldpge import Ldpge, LdpgeRaw
from graphveil.methods.lpgnn import Lpgnn
from graphveil.methods.method import BACKBONE_NAMES, METHODS, Capabilities, Method, Settings, train_backbone
from graphveil.methods.nonprivate import NonPrivate
from graphveil.methods.ppgnn import Ppgnn
from graphveil.methods.solitude import Solitude
from graphveil.methods.structure import Posterior, Structure, StructureSettings, structure_posterior
from graphveil.methods.tasks import Outcome
from graphveil.methods.togl import Togl
from graphveil.methods.upgnet import Upgnet
from graphveil.methods.veil import Veil

# The library's own, in the order in which they are listed.
OWN = (Base, Heterorr, Ldpge, LdpgeRaw, Lpgnn, NonPrivate, Ppgnn, Solitude, Structure, Togl, Upgnet, Veil)
for each in OWN:
    METHODS.add(each.name, each())

__all__ = [
    "BACKBONE_NAMES",
    "METHODS",
    "Capabilities",
    "Job",
    "Method",
    "Outcome",
    "Posterior",
    "Settings",
    "StructureSettings",
    "check_method",
    "feature_plan",
    "method_checks",
    "questions_of",
    "structure_posterior",
    "train_backbone",
]
