"""Measures: how one number comes out of an experiment, and in which unit it is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from graphveil import attacks, learn
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.attribute_study import rank_attributes
from graphveil.experiments.experiment import Experiment, Part
from graphveil.experiments.result import Result
from graphveil.experiments.unit import PARTS as RUN_PARTS
from graphveil.experiments.unit import OpenUnit, RunUnit, UnitResult, load_data, open_unit, parts_of
from graphveil.graphs import Graph
from graphveil.learn.attributes import degree_correlations
from graphveil.mechanisms import Reports
from graphveil.number_format import MEGABYTES, NUMBER, PERCENT, SECONDS, Unit, points
from graphveil.plugins import Registry, is_reference
from graphveil.privacy.answering import Recorder
from graphveil.statistics import Summary, t_interval

# What attacks and rankings need of a method is what it asks; one epoch learns enough for that.
ASKING_EPOCHS = 1
COUNT, FEW = Unit("count", digits=",.0f"), Unit("number", digits=".2f")


SCORE = "score"
PARTS: tuple[Part, ...] = tuple(RUN_PARTS)


@dataclass(frozen=True)
class Reading:
    """One number of an experiment for each part that has it, with what should be said beside it."""

    parts: Mapping[str, Summary] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Measure:
    """A measure reads a finished experiment (``read``), or needs none of its learning and does its own (``apart``).

    ``alone`` asks for units that run in processes of their own, one after the other. ``fewest`` is how many runs it needs.
    ``parts`` are those of a run that it looks at, and ``words`` say what is measured, along an axis; its name where there are none.
    """

    name: str
    unit: Unit
    read: Callable[[Result], Reading] | None = None
    apart: Callable[[Experiment], Reading] | None = None
    alone: bool = False
    fewest: int = 1
    words: str = ""
    parts: tuple[Part, ...] = PARTS

    def __post_init__(self) -> None:
        if (self.read is None) == (self.apart is None):
            raise InputError(f"the measure {self.name!r} must have one of read and apart")

    def of(self, obtained: Result | Experiment) -> Reading:
        """Return the reading of a result, or of an experiment if the measure runs it itself."""
        call: Callable[[Any], Reading] | None = self.read if isinstance(obtained, Result) else self.apart
        assert call is not None
        try:
            reading = call(obtained)
        except (GraphveilError, OSError):
            raise
        except Exception as error:
            if not is_reference(self.name):
                raise
            # Somebody else's code.
            raise InputError(f"{self.name} fails: {type(error).__name__}: {error}") from error
        if not isinstance(reading, Reading):
            raise InputError(f"{self.name} must return a Reading of experiments.measures, got {reading!r}")
        return reading

    def called(self, metric: str) -> str:
        """Return the name of what is measured, in words; a score is called by its metric."""
        return metric if self.name == SCORE else self.words or self.name


def find_measure(name: str) -> Measure:
    """Return the measure of a name, also from FILE.py:NAME or an installed package.

    ``attack:5`` and ``attack-balanced:5`` are about attribute 5 alone.
    """
    known, colon, which = name.partition(":")
    if not colon or known not in ATTACKS:
        return MEASURES.load(name)
    if not which.isdecimal():
        raise InputError(f"{known}: takes the number of an attribute, like {known}:5, got {name!r}")
    attribute = int(which)
    return replace(
        MEASURES.find(known), name=name, apart=lambda spec: _attack(spec, ATTACKS[known], attribute)
    )


def _mean_over_runs(
    value: Callable[[UnitResult], float | None], result: Result, parts: Sequence[Part]
) -> Reading:
    """Return the mean over runs of something that every run has, for some parts."""
    numbers = {
        part: [number for unit in result.of(part) if (number := value(unit)) is not None] for part in parts
    }
    return Reading({part: t_interval(of) for part, of in numbers.items() if of})


def _per_run(
    name: str,
    unit: Unit,
    value: Callable[[UnitResult], float | None],
    parts: tuple[Part, ...] = ("method",),
    **more: Any,
) -> Measure:
    """Return the measure of something that every run has."""
    return Measure(name, unit, lambda result: _mean_over_runs(value, result, parts), parts=parts, **more)


def _extra(name: str) -> Callable[[UnitResult], float | None]:
    """Return a reader of what a method predicts besides, by name."""
    return lambda unit: unit.also.get(name)


def _seconds(unit: UnitResult) -> float:
    """Return what a run took from the first question to the last epoch; loading is not part of it."""
    return sum(took for stage, took in unit.seconds.items() if stage != "total")


def _spread(result: Result) -> Reading:
    """Return the standard deviation over runs; it needs two."""
    scores = {part: result.scores(part) for part in ("method", "control", "structure")}
    return Reading({part: Summary(float(np.std(of, ddof=1))) for part, of in scores.items() if len(of) > 1})


def _norm_error(result: Result) -> Reading:
    """Return the error of predicted norms, beside that of one guess for everybody."""
    errors = _mean_over_runs(_extra("norm_error"), result, _REPORTED)
    constant = _mean_over_runs(_extra("norm_constant"), result, ("method",)).parts.get("method")
    note = "" if constant is None else f"one guess for everybody {NUMBER.number(constant.mean)}"
    return replace(errors, note=note)


def _single(number: float, note: str = "") -> Reading:
    """Return one number without an interval."""
    return Reading({"method": Summary(float(number))}, note)


def _degree_correlation(spec: Experiment) -> Reading:
    """Return that of the attributes that a method chooses; one that chooses at random has the mean over all of them."""
    if "analysis" in type(spec.resolved_settings).model_fields:
        return _single(rank_attributes(spec).degree_correlation)
    spec.check()
    ready = open_unit(RunUnit(spec))
    correlations = degree_correlations(ready.users.raw.rows(), ready.graph.degrees)
    return _single(np.abs(correlations).mean(), "attributes at random")


def _attack(spec: Experiment, kind: str, attribute: int | None = None) -> Reading:
    """Return attribute inference from all that the users of a method report, in its control, and without any privacy."""
    spec = spec.having(settings={**spec.settings, "epochs": ASKING_EPOCHS})
    spec.check()
    parts = [part for part in parts_of(spec) if RUN_PARTS[part].asks_features]
    attacked: dict[str, list[attacks.AttackResult]] = {part: [] for part in (*parts, RAW)}
    for run, part in product(range(spec.runs), parts):
        ready = open_unit(RunUnit(spec, part, run))
        reports = _overheard(ready) if ready.method.can.asks else None
        seen = {part: reports} | ({RAW: None} if part == "method" and reports is not None else {})
        for name, heard in seen.items():
            attacked[name].append(attacks.attribute_inference(ready.graph, ready.users, heard, attribute))
    numbers = {
        name: [number for one in found if (number := getattr(one, kind)) is not None]
        for name, found in attacked.items()
    }
    readings = {name: t_interval(of) for name, of in numbers.items() if of}
    raw = readings.pop(RAW, None)
    guessed = "50 is nothing learned"
    if kind == "accuracy":
        common = float(np.mean([one.commonest for one in attacked["method"]]))
        guessed = f"always the commonest value {points(common)}"
    return Reading(readings, guessed if raw is None else f"without privacy {points(raw.mean)}; {guessed}")


def _overheard(ready: OpenUnit) -> list[Reports]:
    """Run a method, and return the reports of features that somebody who listens hears."""
    listening = Recorder(ready.job.users)
    with learn.one_thread():
        ready.method.run(replace(ready.job, users=listening))
    asked = ("features", "values", "all")
    return [reports for plan, reports in listening.heard if (plan.subject, plan.of, plan.users) == asked]


def _of_graph(name: str, count: Callable[[Graph], float], unit: Unit = COUNT) -> Measure:
    """Return the measure of a number of the graph itself: nothing is asked or learned."""
    return Measure(name, unit, apart=lambda spec: _single(count(load_data(spec)[0])))


def _adapt_measure(name: str, found: Any) -> Measure:
    """Return a measure from a file or a package, under the name by which it was requested."""
    if not isinstance(found, Measure):
        raise InputError(f"{name} must be a Measure of experiments.measures, got a {type(found).__name__}")
    return replace(found, name=name)


# What is attacked where nothing is private.
RAW = "raw"
# What each attack measure reads off an AttackResult.
ATTACKS = {"attack": "accuracy", "attack-balanced": "balanced"}
_REPORTED: tuple[Part, ...] = ("method", "control")
_OWN = (
    _per_run(SCORE, PERCENT, lambda unit: unit.score, PARTS),
    Measure("spread", PERCENT, _spread, fewest=2, words="standard deviation of scores"),
    _per_run("seconds", SECONDS, _seconds, alone=True, words="time of one run"),
    _per_run("peak_mb", MEGABYTES, lambda unit: unit.peak_mb, alone=True, words="largest memory of one run"),
    Measure("norm_error", NUMBER, _norm_error, words="mean absolute error of norms", parts=_REPORTED),
    _per_run("class_bias", PERCENT, _extra("class_bias"), words="class bias"),
    _per_run("degree_bias", PERCENT, _extra("degree_bias"), words="degree bias"),
    Measure(
        "jaccard",
        NUMBER,
        apart=lambda spec: _single(rank_attributes(spec).jaccard),
        fewest=2,
        words="Jaccard index of chosen attributes over runs",
    ),
    Measure(
        "degree_correlation",
        NUMBER,
        apart=_degree_correlation,
        words="correlation of chosen attributes with degrees",
    ),
    Measure(
        "attack", PERCENT, apart=lambda spec: _attack(spec, "accuracy"), words="attribute inference, accuracy"
    ),
    Measure(
        "attack-balanced",
        PERCENT,
        apart=lambda spec: _attack(spec, "balanced"),
        words="attribute inference, balanced accuracy",
    ),
    _of_graph("users", lambda graph: graph.node_count),
    _of_graph("links", lambda graph: graph.edge_count),
    _of_graph("features", lambda graph: graph.feature_count),
    _of_graph("classes", lambda graph: graph.class_count),
    _of_graph("degree", lambda graph: 2 * graph.edge_count / graph.node_count, FEW),
)
MEASURES = Registry[Measure](
    "measure",
    {measure.name: measure for measure in _OWN},
    group="graphveil.measures",
    adapt=_adapt_measure,
)
