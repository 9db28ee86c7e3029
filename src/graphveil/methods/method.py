"""What a method is: one way to learn from a graph and from what its users report.

Nothing here imports torch, so that a command can check its arguments before that; a method imports what it learns with
when it learns.
"""

from __future__ import annotations

import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphveil.errors import InputError, UnknownNameError
from graphveil.graphs.graph import Graph
from graphveil.graphs.users import Users, evaluation
from graphveil.mechanisms import entry
from graphveil.privacy import Plan

# The backbones that a method can be asked for by name (graphveil.learn.BACKBONES holds them).
BACKBONE_NAMES = ("gcn", "sage", "gat")
# Told what is being done and which share of it is done.
Progress = Callable[[str, float], None]


class Settings(BaseModel):
    """What every method that trains a backbone can be set to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    epochs: int = Field(500, ge=1, description="epochs at most")
    lr: float = Field(0.01, gt=0, description="learning rate of Adam")
    weight_decay: float = Field(1e-3, ge=0, description="weight decay of Adam")
    patience: int | None = Field(
        None, ge=1, description="stop after so many epochs without a lower validation loss"
    )
    hidden: int = Field(16, ge=1, description="columns of the hidden layer")
    dropout: float = Field(0.5, ge=0, lt=1, description="dropout before the second layer")
    activation: str = Field("selu", description="selu or relu")

    @classmethod
    def of(cls, given: dict[str, Any] | None) -> Settings:
        """Settings from given values, or an error that names the wrong one and the choices."""
        try:
            return cls(**(given or {}))
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            key = ".".join(str(step) for step in problem["loc"])
            if problem["type"] == "extra_forbidden":
                raise InputError(
                    f"there is no setting {key!r} here: choose from {', '.join(cls.model_fields)}"
                ) from None
            raise InputError(f"setting {key}: {problem['msg']}, got {problem['input']!r}") from None


@dataclass(frozen=True)
class Job:
    """Everything that a method is given for one run. Users answer only `report`."""

    graph: Graph
    users: Users
    settings: Any
    seed: int
    epsilon: float | None = None
    delta: float | None = None
    mechanism: str = "multibit"
    mechanism_options: dict[str, Any] = field(default_factory=dict)
    backbone: str = "gcn"
    device: str = "cpu"
    max_memory: float | None = None
    progress: Progress | None = None

    def feature_plan(self, epsilon: float | None = None, **more: Any) -> Plan:
        """A question about features with the job's mechanism, budget and the graph's public range."""
        graph = self.graph
        if graph.public_range is None:
            raise InputError(
                f"{graph.name} has no features to report: choose a method that needs none, like structure"
            )
        accepted = inspect.signature(entry(self.mechanism).build).parameters
        public = (graph.public_range.low, graph.public_range.high)
        known = {
            "dims": graph.feature_count,
            "range": public,
            "binary": graph.binary or None,
            "delta": self.delta,
        }
        asked = {key: value for key, value in known.items() if key in accepted and value is not None}
        budget = self.epsilon if epsilon is None else epsilon
        return Plan(mechanism=self.mechanism, epsilon=budget, options=self.mechanism_options, **asked, **more)

    def say(self, what: str, share: float) -> None:
        """Report progress, if anybody listens."""
        if self.progress is not None:
            self.progress(what, share)


@dataclass(frozen=True)
class Outcome:
    """What a method learned: scores of all classes for all users, and how it did on the validation users."""

    scores: NDArray[np.float32]
    validation_loss: float
    validation_accuracy: float
    seconds: dict[str, float]
    detail: str = ""


class Stopwatch:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds = {"report": 0.0, "denoise": 0.0, "train": 0.0}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what happens inside."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - start


class Method(ABC):
    """One file a method: subclass this, name it, and register an instance."""

    name: ClassVar[str]
    summary: ClassVar[str]
    settings: ClassVar[type[Settings]] = Settings
    # Whether features are reported, so that a budget is needed and a control can be run.
    reports_features: ClassVar[bool] = True
    # Whether raw features are read: such a method claims no privacy.
    reads_features: ClassVar[bool] = False
    # Whether a dense matrix of users x features is held; `check_method` sees to it that no other method does.
    dense: ClassVar[bool] = False

    @abstractmethod
    def learn(self, job: Job) -> Outcome:
        """Ask the users, learn, and return the scores of all users."""

    def run(self, job: Job) -> Outcome:
        """Learn; raw features can be read by a method that says so, and by no other."""
        with evaluation() if self.reads_features else nullcontext():
            return self.learn(job)

    def claim(self, job: Job) -> tuple[float, float]:
        """The (ε, δ) that this method will charge every user for features; checked against the ledger."""
        if not self.reports_features:
            return 0.0, 0.0
        cost = job.feature_plan().claim
        return cost.epsilon, cost.delta


_methods: dict[str, Method] = {}


def register_method(method: Method) -> Method:
    """Add a method to those that can be run by name."""
    if method.name in _methods:
        raise InputError(f"a method named {method.name!r} is registered already: take another name")
    _methods[method.name] = method
    return method


def method_names() -> list[str]:
    """The names of all registered methods."""
    return list(_methods)


def find_method(name: str) -> Method:
    """The method of that name."""
    if name not in _methods:
        raise UnknownNameError(f"no method is named {name!r}: choose one of {', '.join(_methods)}")
    return _methods[name]
