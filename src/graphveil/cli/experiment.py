"""The options of one experiment, which several commands take, and the spec that they make.

A field that a spec has too goes into it as it is: a new option is declared in `options` and named here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphveil.cli.options import (
    BackboneName,
    DataName,
    Delta,
    Device,
    Epsilon,
    Gamma,
    LabelEpsilon,
    LevelBudgets,
    LevelCount,
    LevelDistribution,
    LinkEpsilon,
    LinkMechanismName,
    MaxMemory,
    MechanismName,
    MethodName,
    RangePair,
    SettingPairs,
    SettingsFile,
    TaskName,
)
from graphveil.cli.parse import all_settings, parse_budgets, range_option
from graphveil.experiments.spec import Spec


@dataclass(frozen=True)
class Asked:
    """What is run, on what, at which budget."""

    method: MethodName
    data: DataName
    epsilon: Epsilon = None
    delta: Delta = None
    mechanism: MechanismName = ""
    backbone: BackboneName = ""
    task: TaskName = "node"


@dataclass(frozen=True)
class Terms:
    """On which terms: settings, whatever else is private, levels, and the machine."""

    setting: SettingPairs = None
    settings_file: SettingsFile = None
    label_epsilon: LabelEpsilon = None
    link_epsilon: LinkEpsilon = None
    link_mechanism: LinkMechanismName = "link-rr"
    levels: LevelCount = None
    budgets: LevelBudgets = None
    gamma: Gamma = None
    level_distribution: LevelDistribution = "uniform"
    public_range: RangePair = None
    max_memory: MaxMemory = None
    device: Device = "auto"


def spec_of(asked: Asked, terms: Terms, **others: Any) -> Spec:
    """The spec of these options; ``others`` are fields of a spec that only some commands set."""
    given = {**vars(asked), **vars(terms), **others}
    settings = all_settings(asked.method, given.pop("settings_file"), given.pop("setting") or [])
    options = range_option(given.pop("public_range"))
    budgets = parse_budgets(given.pop("budgets"))
    return Spec(**given, settings=settings, data_options=options, budgets=budgets)
