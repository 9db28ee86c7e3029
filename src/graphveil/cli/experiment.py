"""The options of one experiment, which several commands take, and the spec that they make.

Most options are fields of the records that a spec has: a new one is declared there, and is an option of every command.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphveil.cli.options import (
    BackboneName,
    DataName,
    MethodName,
    RangePair,
    SettingPairs,
    SettingsFile,
    TaskName,
)
from graphveil.cli.parse import all_settings, range_option
from graphveil.experiments.specs.spec import Spec
from graphveil.methods.terms import Budgets, Levels, Machine, Turnout, Volunteers


@dataclass(frozen=True)
class Asked:
    """What is run, on what, at which budget."""

    method: MethodName
    data: DataName
    budgets: Budgets
    backbone: BackboneName = ""
    task: TaskName = "node"


@dataclass(frozen=True)
class Terms:
    """On which terms: settings, levels, who answers, who volunteers, and the machine."""

    levels: Levels
    turnout: Turnout
    volunteers: Volunteers
    machine: Machine
    setting: SettingPairs = None
    settings_file: SettingsFile = None
    public_range: RangePair = None


def spec_of(asked: Asked, terms: Terms, **others: Any) -> Spec:
    """The spec of these options; ``others`` are fields of a spec that only some commands set."""
    given = {**vars(asked), **vars(terms), **others}
    settings = all_settings(asked.method, given.pop("settings_file"), given.pop("setting") or [])
    options = range_option(given.pop("public_range"))
    return Spec(**given, settings=settings, data_options=options)
