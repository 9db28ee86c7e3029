"""Mechanisms: encode and respond on the client, decode on the server, around channels."""

from graphveil.mechanisms import catalogue
from graphveil.mechanisms.base import Answer, Enumerable, Estimate, Mechanism, ReportShape, RowMechanism
from graphveil.mechanisms.classes import ClassMechanism, ClassModel
from graphveil.mechanisms.degree_links import DegreeLinkMechanism, SampledLinkMechanism
from graphveil.mechanisms.features import FeatureMechanism, budget_shares
from graphveil.mechanisms.labels import ItemMechanism, LabelMechanism, LevelMechanism
from graphveil.mechanisms.links import LinkMechanism, NeighbourLists
from graphveil.mechanisms.personal import PersonalMechanism, PersonalRows, estimate_level_shares
from graphveil.mechanisms.privunit import PrivUnitMechanism
from graphveil.mechanisms.registry import (
    Entry,
    entry,
    feature_family,
    mechanism,
    names,
    register,
    remember,
    unregister,
)
from graphveil.mechanisms.reports import Reports
from graphveil.mechanisms.rows import PublicBall, PublicRange

__all__ = [
    "Answer",
    "ClassMechanism",
    "ClassModel",
    "DegreeLinkMechanism",
    "Entry",
    "Enumerable",
    "Estimate",
    "FeatureMechanism",
    "ItemMechanism",
    "LabelMechanism",
    "LevelMechanism",
    "LinkMechanism",
    "Mechanism",
    "NeighbourLists",
    "PersonalMechanism",
    "PersonalRows",
    "PrivUnitMechanism",
    "PublicBall",
    "PublicRange",
    "ReportShape",
    "Reports",
    "RowMechanism",
    "SampledLinkMechanism",
    "budget_shares",
    "catalogue",
    "entry",
    "estimate_level_shares",
    "feature_family",
    "mechanism",
    "names",
    "register",
    "unregister",
]

remember([entry(name).build for name in names()])
