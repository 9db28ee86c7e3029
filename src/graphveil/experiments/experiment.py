"""Experiment: everything that decides the numbers of one experiment, checked, and what it reads."""

from __future__ import annotations

import json
import platform
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from graphveil.checks import check_whole
from graphveil.errors import InputError, UnknownNameError, option_name
from graphveil.graphs.convert import from_pyg
from graphveil.graphs.graph import Graph
from graphveil.graphs.load import LOADERS, data_digest
from graphveil.graphs.splits import SplitRecipe, check_private_labels, check_seed, recipe_of
from graphveil.graphs.store import file_digest
from graphveil.graphs.users import Users, level_source
from graphveil.mechanisms.personal_builders import checked_budgets
from graphveil.mechanisms.registry import load_entry, origin, takes_levels
from graphveil.methods import BACKBONE_NAMES, METHODS, Settings
from graphveil.methods.method import Method, backbone_digest, check_backbone, require, tuned_settings
from graphveil.methods.private_links import LINK_PREFIX, LinkOptions
from graphveil.methods.tasks import TASKS, Task
from graphveil.methods.terms import (
    Budgets,
    Levels,
    Machine,
    Turnout,
    Volunteers,
    described,
    nested,
    option,
    options_of,
)
from graphveil.plugins import is_reference
from graphveil.version import __version__


def extension_digests(spec: Experiment) -> dict[str, str]:
    """Return digests of what stands behind the names of a spec that are not the library's own, by field; data have one anyway."""
    budgets, backbone = spec.budgets, backbone_digest(spec.backbone)
    found = {
        "method": METHODS.origin(spec.method),
        "mechanism": origin(budgets.mechanism),
        "link_mechanism": origin(budgets.link_mechanism),
    }
    digests = {name: each.digest for name, each in found.items() if each is not None}
    return digests if backbone is None else {**digests, "backbone": backbone}


# The two sides of a graph that is given as an object.
Given = tuple[Graph, Users]
Part = Literal["method", "control", "structure", "edgeless", "unasked"]
MECHANISM_PREFIX, DATA_PREFIX = "mechanism.", "data."
# Fields whose value names code, or is the method's own where it is empty.
RESOLVED = {"method", "backbone", "mechanism", "link_mechanism"}


@dataclass(frozen=True)
class Experiment:
    """One experiment: a method on a dataset with a budget, N runs from a seed. Make it with `Experiment.of`.

    This is data alone: nothing is looked up or loaded when one is made of stored fields.

    ``data`` is a name or a path; ``data_options`` go to the loader (a range, a variant, the size of a town). Settings whose
    key starts with "mechanism." or "data." are options of the mechanism or of the loader, all others of the method.
    Mechanisms and backbone are the method's own unless they are given: `Experiment.of` fills them in.
    """

    method: str = field(
        metadata=described(
            "A name from `graphveil methods`, or FILE.py:NAME for one of your own.", positional=True
        )
    )
    data: str = field(
        metadata=described(
            "A name from `graphveil data list`, the path of an .npz file, or a function as FILE.py:NAME."
        )
    )
    task: str = option(
        "node",
        f"What to predict: {' or '.join(f'{name} ({task.summary})' for name, task in TASKS.items())}.",
    )
    backbone: str = option(
        "", f"One of {', '.join(BACKBONE_NAMES)}, or FILE.py:NAME; the method's own by default."
    )
    runs: int = option(1, "How many runs; run i uses seed S + i for everything.")
    seed: int = option(0, "The seed S of the first run.")
    settings: dict[str, Any] = field(
        default_factory=dict,
        metadata=described(
            "KEY=VALUE, a setting of the method; mechanism.KEY and data.KEY are the mechanism's and the loader's. A list stands in "
            "brackets: 'mechanism.shares=[0.5,0.5]'.",
            "--set",
        ),
    )
    data_options: dict[str, Any] = field(
        default_factory=dict,
        metadata=described("LOW,HIGH: the public range, where the data names none.", "--range"),
    )
    control: bool = option(
        True,
        "Skip what it is compared with: control, structure, no edges, volunteers alone.",
        "--no-control",
    )
    budgets: Budgets = field(default_factory=Budgets)
    levels: Levels = field(default_factory=Levels)
    turnout: Turnout = field(default_factory=Turnout)
    volunteers: Volunteers = field(default_factory=Volunteers)
    machine: Machine = field(default_factory=Machine)

    @classmethod
    def of(cls, method: str, data: str, **options: Any) -> Experiment:
        """Return the experiment of options by name: its own fields, and those of its records (epsilon, levels, device and so on).

        Names are looked up, which runs the code of FILE.py:NAME and of installed packages; see `resolved`.

        >>> Experiment.of("base", "town", epsilon=1.0, runs=3).budgets.epsilon
        1.0
        """
        return cls(method, data, **nested(options, cls)).resolved()

    def resolved(self) -> Experiment:
        """Return the same with the method's own backbone and mechanisms where none is named; the code behind names is run.

        A mechanism that nothing is called is for `check` to refuse.
        """
        whole = self._completed(METHODS.load(self.method))
        whole.load_code()
        return whole

    def load_code(self) -> None:
        """Run the code of method and mechanisms where that is not the library's, in a process that has not run it yet."""
        METHODS.load(self.method)
        for name in (self.budgets.mechanism, self.budgets.link_mechanism):
            with suppress(UnknownNameError):
                load_entry(name)

    def _completed(self, method: Method) -> Experiment:
        budgets = replace(
            self.budgets,
            mechanism=self.budgets.mechanism or method.mechanism,
            link_mechanism=self.budgets.link_mechanism or method.links.mechanism,
        )
        return replace(self, backbone=self.backbone or method.backbone, budgets=budgets)

    def having(self, **options: Any) -> Experiment:
        """Return the experiment with other options, by name."""
        changed = replace(self, **nested(options, self))
        return changed.resolved() if RESOLVED & options.keys() else changed

    @property
    def defaults(self) -> Experiment:
        """The same method on the same data, with nothing else chosen."""
        return Experiment(self.method, self.data)._completed(self.resolved_method)

    @property
    def chosen(self) -> dict[str, Any]:
        """The options that differ from their defaults, by name."""
        plain = options_of(self.defaults)
        return {name: value for name, value in options_of(self).items() if value != plain[name]}

    def about(self) -> dict[str, Any]:
        """Return what results and files say of it: its names, its budget for features, its seed, and this version."""
        private = self.budgets.epsilon is not None
        return {
            "method": self.method,
            "data": self.data,
            "task": self.task,
            "epsilon": self.budgets.epsilon,
            "mechanism": self.budgets.mechanism if private else None,
            "backbone": self.backbone,
            "seed": self.seed,
            "version": __version__,
        }

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process is sent: the fields, and nothing that was looked up here."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def resolved_method(self) -> Method:
        """The method that the name stands for."""
        return METHODS.find(self.method)

    @cached_property
    def resolved_task(self) -> Task:
        """The task that the name stands for."""
        return TASKS.find(self.task)

    @cached_property
    def resolved_settings(self) -> Settings:
        """The method's settings: those that are given, the defaults for this data and task, and the general ones."""
        method = self.resolved_method
        usual = tuned_settings(method, self.data, self.task, self.budgets.mechanism)
        return method.settings.of({**usual, **self.method_settings})

    @property
    def method_settings(self) -> dict[str, Any]:
        """The settings of the method."""
        prefixes = (MECHANISM_PREFIX, DATA_PREFIX, LINK_PREFIX)
        return {key: value for key, value in self.settings.items() if not key.startswith(prefixes)}

    @property
    def has_levels(self) -> bool:
        """Whether users choose a privacy level: True if both method and mechanism have levels."""
        return self.resolved_method.can.levels > 0 and takes_levels(self.budgets.mechanism)

    def level_budgets(self) -> tuple[float, ...]:
        """Return the public budgets of the levels."""
        assert self.budgets.epsilon is not None
        count, budgets = self.levels.levels, self.levels.budgets
        if count is None and budgets is None:
            count = self.resolved_method.can.levels
        return checked_budgets(self.budgets.epsilon, count, budgets)

    @property
    def mechanism_options(self) -> dict[str, Any]:
        """The settings of the mechanism."""
        return self._below(MECHANISM_PREFIX)

    @property
    def links(self) -> LinkOptions:
        """What is said of private links besides their budget."""
        method, settings = self.resolved_method, self.resolved_settings
        return LinkOptions(
            method.links, self.budgets, self._below(LINK_PREFIX), settings, self.method_settings
        )

    @property
    def loader_options(self) -> dict[str, Any]:
        """The options that are passed to the loader."""
        return {**self.data_options, **self._below(DATA_PREFIX)}

    def _below(self, prefix: str) -> dict[str, Any]:
        return {key[len(prefix) :]: value for key, value in self.settings.items() if key.startswith(prefix)}

    def check(self, given: Given | None = None) -> None:
        """Reject an experiment that cannot be run, before heavy imports; ``given`` are graph and users."""
        method, budgets = self.resolved_method, self.budgets
        task = self.resolved_task
        _ = self.resolved_settings
        check_backbone(self.backbone)
        if method.can.asks and budgets.epsilon is None:
            raise InputError(f"{self.method} reports features and needs a budget: give --epsilon, like 1")
        if not method.can.asks and budgets.epsilon is not None:
            raise InputError(f"{self.method} reports no features: leave --epsilon out")
        budgets.check()
        self._check_levels()
        task.check_budgets(budgets)
        if budgets.private_labels:
            split = self.loader_options.get("split")
            if split == "few" or isinstance(split, SplitRecipe):
                check_private_labels(recipe_of(split))
        self.links.check()
        if budgets.norm_epsilon is not None:
            require(method, "norms")
        self._check_turnout()
        self._check_volunteers()
        check_whole(self.runs, "--runs", least=1)
        check_seed(self.seed, self.runs)
        self.machine.check()
        if given is not None and budgets.private_labels:
            check_private_labels(given[0].recipe)
        if is_reference(self.data):
            LOADERS.load(self.data)

    def _check_levels(self) -> None:
        mechanism = self.budgets.mechanism
        if self.has_levels:
            self.level_budgets()
            self.levels.check()
            return
        what = [mechanism] if takes_levels(mechanism) else [option_name(name) for name in self.levels.given]
        if what:
            here = f"unlike those of {self.method} with {mechanism}: leave it out, or take ppgnn with ppm"
            raise InputError(f"{what[0]} is for users who choose a privacy level, {here}")

    def _check_turnout(self) -> None:
        self.turnout.check()
        method, budgets = self.resolved_method, self.budgets
        asks = method.can.asks or budgets.private_labels or budgets.private_links
        if not self.turnout.complete and (method.can.features == "raw" or not asks):
            raise InputError(f"{self.method} asks nobody here: leave --participation out")

    @property
    def uses_panel(self) -> bool:
        """Whether volunteers' rows are used, where there are volunteers."""
        return self.resolved_method.can_with(self.resolved_settings).panel

    def _check_volunteers(self) -> None:
        if self.volunteers.panel is None:
            return
        self.volunteers.check()
        require(self.resolved_method, "panel", self.resolved_settings)
        if self.has_levels:
            raise InputError("volunteers give their row, not a privacy level: leave --panel out")

    def key(self, part: Part, run: int) -> str:
        """Return everything that decides the numbers of one part of one run, in a canonical spelling."""
        shared = asdict(replace(self, runs=1, control=True, seed=self.seed + run))
        shared["full_settings"] = self.resolved_settings.model_dump()
        outside = extension_digests(self)
        if part == "structure":
            outside = {}
            shared = {
                "data": self.data,
                "options": self.loader_options,
                "seed": self.seed + run,
                "task": self.task,
                "label_epsilon": self.budgets.label_epsilon,
                "links": [self.budgets.link_epsilon, self.budgets.link_mechanism, self.links.options]
                if self.budgets.private_links
                else None,
                "turnout": shared["turnout"],
                "device": self.machine.device,
            }
        if outside:
            shared["outside"] = outside
        return json.dumps([part, shared], sort_keys=True, default=str)


def input_digest(spec: Experiment, part: Part = "method") -> str:
    """Return a digest of all data that one part of an experiment reads: another content, another digest."""
    whole = data_digest(spec.data, spec.loader_options)
    levels = level_source(spec.levels.level_distribution or "uniform")
    files = list(spec.links.files)
    if part != "structure":
        files += [levels] if spec.has_levels and isinstance(levels, Path) else []
        files += spec.resolved_settings.files
    return "+".join([whole, *(file_digest(file) for file in files)])


def check_same(spec: Experiment, digest: str, part: Part = "method") -> None:
    """Raise an error if the data of an experiment are not those with which it began.

    Parameters
    ----------
    spec
        The experiment.
    digest
        What `input_digest` was when it began.
    part
        The part of a run that reads the data.
    """
    if input_digest(spec, part) != digest:
        raise InputError(
            f"{spec.data} was changed while it was computed with, or is another one on {platform.node()}: give all machines the same "
            "files, and run it again"
        )


# What `from_pyg` takes besides the data, as options of a call that takes Data.
PYG_OPTIONS = ("range", "binary", "split", "label", "metric", "ids", "name")


def take_data(
    data: Any, users: Users | None, options: dict[str, Any]
) -> tuple[str, Given | None, dict[str, Any]]:
    """Return the name of the data, graph and users if these are objects, and the remaining options.

    PyG's Data goes through `from_pyg`, with the options ``range``, ``binary``, ``split``, ``label``,
    ``metric``, ``ids`` and ``name``. With the name of a dataset these are options of its loader, so that
    ``range=(0, 1)`` means the same in both.

    Parameters
    ----------
    data
        The name or path of a dataset, a `Graph`, or PyG's Data.
    users
        The users of a `Graph`; else None.
    options
        All options of the call, by name.
    """
    together = "give a graph together with its users, or the name of a dataset alone"
    own = {key: options[key] for key in PYG_OPTIONS if key in options}
    if isinstance(data, Graph):
        if users is None:
            raise InputError(together)
        for name in own:
            raise InputError(
                f"{name} has no meaning for a graph that is divided already: give it to from_pyg"
            )
        return data.name, (data, users), options
    if users is not None:
        raise InputError(together)
    left = {key: value for key, value in options.items() if key not in own}
    if isinstance(data, str):
        return data, None, left | ({"data_options": {**left.get("data_options", {}), **own}} if own else {})
    if not hasattr(data, "edge_index"):
        kinds = "the name of a dataset, a path, a graph with its users, or PyG's Data"
        raise InputError(f"data must be {kinds}, got {type(data).__name__}")
    given = from_pyg(data, seed=int(options.get("seed", 0)), **own)
    return given[0].name, given, left
