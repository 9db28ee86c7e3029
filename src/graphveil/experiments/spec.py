"""Spec: everything that decides the numbers of an experiment."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, cast

from graphveil.errors import InputError
from graphveil.experiments.outside_names import check_data, load_names, outside_digests
from graphveil.graphs.graph import Graph
from graphveil.graphs.levels import DISTRIBUTIONS, draw_levels, level_source
from graphveil.graphs.splits import SplitRecipe, check_private_labels, check_seed, recipe_of
from graphveil.mechanisms import entry, names
from graphveil.mechanisms.personal_builders import level_budgets, takes_levels
from graphveil.mechanisms.registry import check_budget
from graphveil.methods import Settings, find_method, load_method
from graphveil.methods.backbone_names import check_backbone
from graphveil.methods.method import TASKS, Task, check_norms
from graphveil.registry import unknown_name

# Where to learn: auto takes a GPU if there is one.
DEVICES = ("auto", "cpu", "cuda")
# Counted up whenever the same spec gives other numbers than before, so that kept results are not mixed with new ones.
NUMBERS = 4
# Squares of norms are computed with.
NORM_BOUNDS = (1e-100, 1e100)
Part = Literal["method", "control", "structure"]
MECHANISM_PREFIX, DATA_PREFIX = "mechanism.", "data."


@dataclass(frozen=True)
class Spec:
    """One experiment: a method on a dataset with a budget, N runs from a seed.

    ``data`` is a name or a path; ``data_options`` go to the loader (a range, a variant, the size of a town). Settings whose
    key starts with "mechanism." or "data." are options of the mechanism or of the loader, all others of the method.
    Mechanism and backbone are the method's own unless they are given. ``levels``, ``budgets`` and ``gamma`` are for methods
    whose users choose a privacy level; ``level_distribution`` says how that is simulated or names a file of levels. Without
    it, users who are given with levels keep them, and others choose uniformly. With ``norm_epsilon`` the norms of feature rows
    are learned beside the classes; ``norm_bound`` is what they are known not to exceed.
    """

    method: str
    data: str
    epsilon: float | None = None
    delta: float | None = None
    mechanism: str = ""
    backbone: str = ""
    task: str = "node"
    runs: int = 1
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    data_options: dict[str, Any] = field(default_factory=dict)
    label_epsilon: float | None = None
    link_epsilon: float | None = None
    link_mechanism: str = "link-rr"
    levels: int | None = None
    budgets: tuple[float, ...] | None = None
    gamma: float | None = None
    level_distribution: str | None = None
    norm_epsilon: float | None = None
    norm_bound: float | None = None
    max_memory: float | None = None
    device: str = "auto"
    control: bool = True

    def __post_init__(self) -> None:
        method = load_method(self.method)
        for name in ("mechanism", "backbone"):
            if not getattr(self, name):
                object.__setattr__(self, name, getattr(method, name))
        load_names(self)

    @property
    def method_settings(self) -> dict[str, Any]:
        """The settings that are the method's."""
        prefixes = (MECHANISM_PREFIX, DATA_PREFIX)
        return {key: value for key, value in self.settings.items() if not key.startswith(prefixes)}

    def full_settings(self) -> Settings:
        """The method's settings: those that are given, the defaults for this data and task, and the general ones."""
        task = cast(Task, self.task)
        return find_method(self.method).settings_for(self.method_settings, self.data, task, self.mechanism)

    @property
    def has_levels(self) -> bool:
        """Whether users choose a privacy level: where method and mechanism have levels."""
        return find_method(self.method).reports_levels and takes_levels(self.mechanism)

    def level_budgets(self) -> tuple[float, ...]:
        """The public budgets of the levels."""
        assert self.epsilon is not None
        levels = self.levels
        if levels is None and self.budgets is None:
            levels = find_method(self.method).level_count
        return level_budgets(self.epsilon, levels, self.budgets)

    @property
    def mechanism_options(self) -> dict[str, Any]:
        """The settings that are the mechanism's."""
        return self._below(MECHANISM_PREFIX)

    @property
    def loader_options(self) -> dict[str, Any]:
        """What the loader is told."""
        return {**self.data_options, **self._below(DATA_PREFIX)}

    def _below(self, prefix: str) -> dict[str, Any]:
        return {key[len(prefix) :]: value for key, value in self.settings.items() if key.startswith(prefix)}

    def check(self) -> None:
        """Refuse what cannot be run, before anything heavy is imported."""
        method = find_method(self.method)
        if self.task not in TASKS:
            raise unknown_name("task", self.task, TASKS)
        self.full_settings()
        check_backbone(self.backbone)
        if method.reports_features:
            if self.epsilon is None:
                raise InputError(
                    f"{self.method} reports features and needs a budget: give --epsilon, for example 1"
                )
            check_budget(self.epsilon, self.delta)
            if entry(self.mechanism).subject != "features":
                raise InputError(f"{self.mechanism} does not report features: choose another mechanism")
        elif self.epsilon is not None:
            raise InputError(
                f"{self.method} reports no features, so epsilon has no meaning for it: leave it out"
            )
        self._check_levels()
        if self.task == "link" and (self.label_epsilon is not None or self.link_epsilon is not None):
            raise InputError(
                "where links are predicted, labels are not used and known links are public: "
                "leave out label_epsilon and link_epsilon"
            )
        if self.label_epsilon is not None:
            check_budget(self.label_epsilon, name="label_epsilon")
            split = self.loader_options.get("split")
            if split == "few" or isinstance(split, SplitRecipe):
                check_private_labels(recipe_of(split))
        if entry(self.link_mechanism).subject != "links":
            raise InputError(
                f"{self.link_mechanism} does not report links: choose one of {', '.join(names('links'))}"
            )
        if self.link_epsilon is not None:
            check_budget(self.link_epsilon, name="link_epsilon")
            if not method.reports_links:
                raise InputError(
                    f"{self.method} takes the links as public, so link_epsilon has no meaning for it: "
                    "leave it out, or take a method that asks for links, like solitude"
                )
        self._check_norms()
        if isinstance(self.runs, bool) or not isinstance(self.runs, int) or self.runs < 1:
            raise InputError(f"runs must be an integer of at least 1, got {self.runs!r}")
        check_seed(self.seed, self.runs)
        if self.device not in DEVICES:
            raise InputError(f"device must be one of {', '.join(DEVICES)}, got {self.device!r}")
        if self.max_memory is not None and not self.max_memory > 0:
            raise InputError(f"max_memory must be a positive number of gigabytes, got {self.max_memory!r}")
        check_data(self.data)

    def check_given(self, graph: Graph) -> None:
        """Refuse what cannot be run on a graph that is given with its users."""
        if self.label_epsilon is not None:
            check_private_labels(graph.recipe)

    def _check_norms(self) -> None:
        if self.norm_epsilon is not None:
            check_budget(self.norm_epsilon, name="norm_epsilon")
            check_norms(find_method(self.method), self.task)
        if self.norm_bound is not None:
            if self.norm_epsilon is None:
                raise InputError(
                    "norm_bound has no meaning where no norms are learned: give norm_epsilon too"
                )
            low, high = NORM_BOUNDS
            if not low <= self.norm_bound <= high:
                raise InputError(
                    f"norm_bound must be a positive number ({low:g} to {high:g}), got {self.norm_bound!r}"
                )

    def _check_levels(self) -> None:
        if self.has_levels:
            self.level_budgets()
            if self.gamma is not None and not 0 < self.gamma < 1:
                raise InputError(f"gamma must be a number strictly between 0 and 1, got {self.gamma!r}")
            source = level_source(self.level_distribution or "uniform")
            if isinstance(source, str) and source not in DISTRIBUTIONS:
                draw_levels(1, 2, source)
            return
        if takes_levels(self.mechanism):
            raise InputError(
                f"{self.mechanism} is for users who choose a privacy level, which {self.method} has not: "
                "take ppgnn, or another mechanism"
            )
        for name in ("levels", "budgets", "gamma"):
            if getattr(self, name) is not None:
                raise InputError(
                    f"{name} is for users who choose a privacy level, which {self.method} with {self.mechanism} does not "
                    "ask for: leave it out, or take ppgnn with ppm"
                )

    def key(self, part: Part, run: int) -> str:
        """A digest of all that decides the numbers of one part of one run."""
        shared = asdict(replace(self, runs=1, control=True, seed=self.seed + run))
        shared["full_settings"] = self.full_settings().model_dump()
        if self.norm_epsilon is None:
            # As it was before norms could be learned, so that what was kept then is found.
            del shared["norm_epsilon"], shared["norm_bound"]
            shared["full_settings"].pop("norm_weight", None)
        outside = outside_digests(self)
        if part == "structure":
            outside = {field: digest for field, digest in outside.items() if field == "data"}
            shared = {key: shared[key] for key in ("data", "seed", "task", "label_epsilon", "device")}
            shared |= {"options": self.loader_options}
        if outside:
            shared["outside"] = outside
        whole = json.dumps([NUMBERS, part, shared], sort_keys=True, default=str)
        return hashlib.blake2b(whole.encode(), digest_size=12).hexdigest()
