"""Measures: how one number comes out of an experiment, and in which unit it is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from graphveil import attacks, learn
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.attribute_study import degree_correlations, rank_attributes
from graphveil.experiments.experiment import Experiment, Part
from graphveil.experiments.parts import PARTS as RUN_PARTS
from graphveil.experiments.result import Result
from graphveil.experiments.runner import parts_of
from graphveil.experiments.statistics import Summary, t_interval
from graphveil.experiments.unit import UnitResult, load_data, make_ready
from graphveil.graphs import Graph
from graphveil.number_format import MEGABYTES, NUMBER, PERCENT, SECONDS, Unit, points
from graphveil.outside import is_reference
from graphveil.registry import Registry

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
            raise InputError(
                f"the measure {self.name!r} must have one of read and apart: read takes a result, apart takes a spec"
            )

    def of(self, obtained: Result | Experiment) -> Reading:
        """What it finds: in a result where it reads one, else by what it does itself with a spec."""
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
            raise InputError(
                f"{self.name} must return a Reading of graphveil.experiments.measures, got {reading!r}"
            )
        return reading

    def called(self, metric: str) -> str:
        """What is measured, in words; a score is called by its metric."""
        return metric if self.name == SCORE else self.words or self.name


# What came of a measure that does its own: a reading, why there is none, or nothing where it was interrupted.
Apart = Reading | GraphveilError | None


def find_measure(name: str) -> Measure:
    """The measure of that name, from FILE.py:NAME or an installed package too.

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


def measured_apart(measure: Measure, spec: Experiment) -> Reading | GraphveilError:
    """What a measure that does its own finds, or why it finds nothing."""
    try:
        return measure.of(spec)
    except GraphveilError as error:
        return error


def all_apart(
    wanted: Sequence[tuple[Measure, Experiment]],
    interrupted: bool = False,
    watch: Callable[[Experiment, int], None] = lambda _spec, _done: None,
) -> tuple[list[Apart], bool]:
    """Measure what needs no learning, one after the other; and whether that was interrupted. ``watch`` is told how many are done."""
    readings: list[Apart] = []
    for measure, spec in wanted:
        if interrupted:
            readings.append(None)
            continue
        watch(spec, len(readings))
        try:
            readings.append(measured_apart(measure, spec))
        except KeyboardInterrupt:
            interrupted = True
            readings.append(None)
    return readings, interrupted


def _each(value: Callable[[UnitResult], float | None], *parts: Part) -> Callable[[Result], Reading]:
    """The mean over runs of something that every run has, for some parts."""

    def read(result: Result) -> Reading:
        summaries: dict[str, Summary] = {}
        for part in parts:
            numbers = [number for unit in result.of(part) if (number := value(unit)) is not None]
            if numbers:
                summaries[part] = t_interval(numbers)
        return Reading(summaries)

    return read


def _also(name: str) -> Callable[[UnitResult], float | None]:
    """What a method predicts besides, by name."""

    def value(unit: UnitResult) -> float | None:
        return unit.also.get(name)

    return value


def _seconds(unit: UnitResult) -> float:
    """What a run took from the first question to the last epoch; loading is not part of it."""
    return sum(took for stage, took in unit.seconds.items() if stage != "total")


def _spread(result: Result) -> Reading:
    """The standard deviation over runs; it needs two."""
    scores = {part: result.scores(part) for part in ("method", "control", "structure")}
    return Reading(
        {part: Summary(float(np.std(of, ddof=1)), None, None) for part, of in scores.items() if len(of) > 1}
    )


def _norm_error(result: Result) -> Reading:
    """The error of predicted norms, beside that of one guess for everybody."""
    constant = _each(_also("norm_constant"), "method")(result).parts.get("method")
    note = "" if constant is None else f"one guess for everybody {NUMBER.number(constant.mean)}"
    return Reading(_each(_also("norm_error"), "method", "control")(result).parts, note)


def _jaccard(spec: Experiment) -> Reading:
    return Reading({"method": Summary(rank_attributes(spec).jaccard, None, None)})


def _degree_correlation(spec: Experiment) -> Reading:
    """Of the attributes that a method chooses; one that chooses at random has the mean over all of them."""
    if "analysis" in type(spec.resolved_settings).model_fields:
        return Reading({"method": Summary(rank_attributes(spec).degree_correlation, None, None)})
    spec.check()
    ready = make_ready(spec, "method", 0, None, None)
    correlations = degree_correlations(ready.users.raw.rows(), ready.graph.degrees)
    return Reading(
        {"method": Summary(float(np.abs(correlations).mean()), None, None)}, "attributes at random"
    )


def _attack(spec: Experiment, kind: str, attribute: int | None = None) -> Reading:
    """Attribute inference from all that the users of a method report, in its control, and without any privacy."""
    spec = spec.having(settings={**spec.settings, "epochs": ASKING_EPOCHS})
    spec.check()
    parts = [part for part in parts_of(spec) if RUN_PARTS[part].asks_features]
    attacked: dict[str, list[attacks.AttackResult]] = {part: [] for part in (*parts, "raw")}
    for run in range(spec.runs):
        for part in parts:
            ready = make_ready(spec, part, run, None, None)
            reports = None
            if ready.method.reports_features:
                listening = attacks.OverheardUsers(ready.job.users)
                with learn.one_thread():
                    ready.method.run(replace(ready.job, users=listening))
                reports = listening.features_heard()
            attacked[part].append(attacks.attribute_inference(ready.graph, ready.users, reports, attribute))
            if part == "method" and reports is not None:
                attacked["raw"].append(attacks.attribute_inference(ready.graph, ready.users, None, attribute))
    readings: dict[str, Summary] = {}
    for part in parts:
        numbers = [number for one in attacked[part] if (number := getattr(one, kind)) is not None]
        if numbers:
            readings[part] = t_interval(numbers)
    return Reading(readings, _beside(kind, attacked["method"], attacked["raw"]))


def _beside(kind: str, attacked: list[Any], raw: list[Any]) -> str:
    """What the attack comes to without privacy, and what guessing comes to."""
    said = []
    numbers = [number for one in raw if (number := getattr(one, kind)) is not None]
    if numbers:
        said.append(f"without privacy {points(float(np.mean(numbers)))}")
    if kind == "accuracy":
        common = float(np.mean([one.commonest for one in attacked]))
        said.append(f"always the commonest value {points(common)}")
    else:
        said.append("50 is nothing learned")
    return "; ".join(said)


def _counted(count: Callable[[Graph], float]) -> Callable[[Experiment], Reading]:
    """A number of the graph itself: nothing is asked or learned."""

    def read(spec: Experiment) -> Reading:
        return Reading({"method": Summary(float(count(load_data(spec)[0])), None, None)})

    return read


def _outside_measure(name: str, found: Any) -> Measure:
    """What was found in a file or a package, as a measure of the name by which it was asked for."""
    if not isinstance(found, Measure):
        raise InputError(
            f"{name} is no measure but a {type(found).__name__}: name a Measure of graphveil.experiments.measures"
        )
    return replace(found, name=name)


# What each attack measure reads off an AttackResult.
ATTACKS = {"attack": "accuracy", "attack-balanced": "balanced"}
_METHOD: tuple[Part, ...] = ("method",)
_REPORTED: tuple[Part, ...] = ("method", "control")
_OWN = (
    Measure(SCORE, PERCENT, _each(lambda unit: unit.score, *PARTS)),
    Measure("spread", PERCENT, _spread, fewest=2, words="standard deviation of scores"),
    Measure(
        "seconds", SECONDS, _each(_seconds, "method"), alone=True, words="time of one run", parts=_METHOD
    ),
    Measure(
        "peak_mb",
        MEGABYTES,
        _each(lambda unit: unit.peak_mb, "method"),
        alone=True,
        words="largest memory of one run",
        parts=_METHOD,
    ),
    Measure("norm_error", NUMBER, _norm_error, words="mean absolute error of norms", parts=_REPORTED),
    Measure("class_bias", PERCENT, _each(_also("class_bias"), "method"), words="class bias", parts=_METHOD),
    Measure(
        "degree_bias", PERCENT, _each(_also("degree_bias"), "method"), words="degree bias", parts=_METHOD
    ),
    Measure(
        "jaccard", NUMBER, apart=_jaccard, fewest=2, words="Jaccard index of chosen attributes over runs"
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
    Measure("users", COUNT, apart=_counted(lambda graph: graph.node_count)),
    Measure("links", COUNT, apart=_counted(lambda graph: graph.edge_count)),
    Measure("features", COUNT, apart=_counted(lambda graph: graph.feature_count)),
    Measure("classes", COUNT, apart=_counted(lambda graph: graph.class_count)),
    Measure("degree", FEW, apart=_counted(lambda graph: 2 * graph.edge_count / graph.node_count)),
)
MEASURES = Registry[Measure](
    "measure",
    {measure.name: measure for measure in _OWN},
    group="graphveil.measures",
    adapt=_outside_measure,
)
