"""Result: what an experiment says, as an object, as JSON and in words. It is kept in files, and read back, as the same class."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    model_validator,
)

from graphveil.errors import InputError
from graphveil.experiments.artefacts import Predictions, check_predictions, check_same_score, predictions_of
from graphveil.experiments.drawings import RUN_FIGURES, score_figure
from graphveil.experiments.experiment import Experiment, Given, Part
from graphveil.experiments.model import Model, check_model, train_model
from graphveil.experiments.table import Table
from graphveil.experiments.unit import STAGES, OpenUnit, RunUnit, UnitResult, learn_unit, predicted_classes
from graphveil.files import FIGURES, check_output
from graphveil.graphs.metrics import ClassScore
from graphveil.methods.tasks import Outcome
from graphveil.number_format import (
    ONE_RUN,
    Interval,
    budget,
    counted,
    gained,
    low_to_high,
    percent,
    points,
    rounded,
)
from graphveil.plugins import unknown_name
from graphveil.privacy.record import Privacy
from graphveil.statistics import Summary, beside, link_verdict, paired_gain, t_interval, verdict
from graphveil.version import __version__

# Digits of a digest that tell graphs of one name apart.
SHOWN_DIGITS = 8
# The method, and what it is compared with.
PARTS: tuple[Part, ...] = get_args(Part)
OTHER_PARTS = PARTS[1:]
# The fields of the gains over them.
GAINS = {part: "gain" if part == "control" else f"gain_over_{part}" for part in OTHER_PARTS}


@dataclass(frozen=True)
class Measurement(Summary):
    """A number that was measured besides the score: its mean with its interval, and the number of each run."""

    runs: tuple[float, ...] = ()
    # An error may be infinite, or no number; a score is neither.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(allow_inf_nan=True)


@dataclass(frozen=True)
class PartScores(Summary):
    """The mean score of a part, 0..1, with its interval, the score of each run, and what was measured besides.

    ``name`` says what was chosen, where a part chooses. Runs of structure are not kept.
    """

    name: str = ""
    runs: tuple[float, ...] = ()
    also: dict[str, Measurement] = field(default_factory=dict)


class Result(BaseModel):
    """The combined result of an experiment's runs.

    Parameters
    ----------
    runs, mean, low, high
        The scores of the method, 0..1, their mean, and its 95% t-interval.
    control, structure, edgeless, unasked
        The scores of what it is compared with, where that was run.
    gain, gain_over_structure, gain_over_edgeless, gain_over_unasked
        Paired differences, over the runs that have both.
    answered
        How many users were ``asked``, and how many of them ``answered``: means over runs.
    privacy
        What was read and reported, and what that cost: of several runs that of the dearest.
    seconds
        What the stages of a run of the method took, and everything in ``total``.
    also
        What was measured besides the score.
    experiment
        What was run; as far as the other fields say it, where it is read from what `--json` has printed.
    interrupted
        Whether there are fewer runs than were asked for.
    seeds, data_digest
        The seeds of the runs, and a digest of the graph's content, where they are known.

    A result that was computed in this process holds the units of its runs too. It holds no models: `predictions`, `per_class` and
    `confusion` learn one run again, which gives the same bit for bit because a run depends on data, settings and seed alone; that takes as
    long as the run did, once for each run that is asked for. One that was read from a file has its fields.
    """

    model_config = ConfigDict(
        frozen=True, extra="ignore", populate_by_name=True, allow_inf_nan=False, ser_json_inf_nan="constants"
    )

    method: str
    data: str
    task: str = "node"
    metric: str = "accuracy"
    epsilon: float | None = Field(None, gt=0)
    mechanism: str | None = None
    backbone: str | None = None
    seed: int = 0
    version: str = ""
    runs: tuple[float, ...] = Field(min_length=1)
    mean: float
    low: float | None = None
    high: float | None = None
    control: PartScores | None = None
    structure: PartScores | None = None
    gain: Summary | None = None
    gain_over_structure: Summary | None = None
    edgeless: PartScores | None = None
    gain_over_edgeless: Summary | None = None
    unasked: PartScores | None = None
    gain_over_unasked: Summary | None = None
    verdict: str | None = None
    answered: dict[str, int] = Field(default_factory=dict)
    privacy: Privacy | None = None
    seconds: dict[str, float] = Field(default_factory=dict)
    peak_mb: float | None = None
    also: dict[str, Measurement] = Field(default_factory=dict)
    experiment: Experiment = Field(alias="spec")
    interrupted: bool = False
    time: str | None = None
    seeds: tuple[int, ...] | None = None
    data_digest: str = ""
    # Whether all of the experiment is known, or only what the other fields say of it.
    _described: bool = PrivateAttr(default=True)
    _units: tuple[UnitResult, ...] = PrivateAttr(default=())
    _given: Given | None = PrivateAttr(default=None)
    _learned: dict[int, tuple[OpenUnit, Outcome]] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, fields: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        """Take from the result what a file does not say of its experiment. What computes decides no number, and is not read."""
        spec = fields.get("spec") if isinstance(fields, dict) else {}
        if not isinstance(fields, dict) or not isinstance(spec, dict | None):
            return validate(fields)
        names = ("method", "data", "task", "backbone", "seed")
        own = {name: fields[name] for name in names if fields.get(name) is not None}
        budgets = {name: fields[name] for name in ("epsilon", "mechanism") if fields.get(name) is not None}
        told = {**own, "budgets": budgets, **(spec or {}), "machine": {}}
        result = validate({**fields, "spec": told})
        result._described = spec is not None
        return result

    @classmethod
    def from_units(
        cls,
        experiment: Experiment,
        units: Sequence[UnitResult],
        *,
        metric: str = "accuracy",
        version: str = __version__,
        seconds: float = 0.0,
        interrupted: bool = False,
        data_digest: str = "",
        given: Given | None = None,
    ) -> Result:
        """Return the result of finished units.

        Parameters
        ----------
        version
            The version of graphveil that computed the units.
        seconds
            The time that all of them took.
        interrupted
            Whether units are missing because of an interrupt.
        data_digest
            A digest of the graph's content.
        given
            Graph and users, if these are objects.
        """
        parts = {part: _units_of(units, part) for part in PARTS}
        method, known = parts["method"], {**experiment.about(), "version": version}
        if not method:
            raise InputError(f"no run of {experiment.method} on {experiment.data} is finished")
        if experiment.method == "structure":
            known["backbone"] = None
        own = _scores(method)
        gains = {part: gain_over(method, parts[part]) for part in OTHER_PARTS}
        known |= {name: getattr(own, name) for name in ("runs", "mean", "low", "high")}
        known |= {part: _scores(parts[part], part) if parts[part] else None for part in OTHER_PARTS}
        known |= {GAINS[part]: gain for part, gain in gains.items()}
        stages = {stage: sum(unit.seconds[stage] for unit in method) / len(method) for stage in STAGES}
        asked = {name: sum(getattr(unit, name) for unit in method) for name in ("asked", "answered")}
        # What was computed is not refused, whatever it is.
        result = cls.model_construct(
            **known,
            metric=metric,
            verdict=_verdict(experiment, gains),
            answered={name: round(count / len(method)) for name, count in asked.items()},
            privacy=max((unit.privacy for unit in method), key=_spent),
            seconds={**stages, "total": seconds},
            peak_mb=max(unit.peak_mb for unit in units),
            also=_measurements(method),
            experiment=experiment,
            interrupted=interrupted,
            seeds=tuple(experiment.seed + unit.run for unit in method),
            data_digest=data_digest,
        )
        result._units, result._given = tuple(units), given
        return result

    def __repr__(self) -> str:
        runs, interval = counted(len(self.runs), "run"), low_to_high(self)
        said = f"{self.metric} {points(self.mean)} ({runs if interval == ONE_RUN else f'{interval}, {runs}'}"
        said += ", interrupted)" if self.interrupted else ")"
        said += f", control {points(self.control.mean)}" if self.control else ""
        said += f", gain {gained(self.gain)}" if self.gain else ""
        at = "" if self.epsilon is None else f", {_budget(self)}"
        verdict = f"\n{self.verdict}" if self.verdict else ""
        return f"Result({self.method} on {self.data}{at}: {said}){verdict}"

    @property
    def data_name(self) -> str:
        """The name of the data in stored results, with a digest of its content if it was given as objects."""
        return self.data if self._given is None else f"{self.data}@{self.data_digest[:SHOWN_DIGITS]}"

    @property
    def identity(self) -> str:
        """The same for two results of the same experiment; where that is not known, only for two that are the same throughout."""
        names = IDENTITY if self._described else LISTED.keys() - {"version", "time", "interrupted"}
        whole = self.model_dump(include={name: LISTED[name] for name in names})
        return json.dumps(whole, sort_keys=True, default=str)

    @property
    def units(self) -> tuple[UnitResult, ...]:
        """The finished units of all parts; a result that was read from a file has none."""
        return self._units

    def of(self, part: str) -> list[UnitResult]:
        """Return the units of one part, in the order of runs."""
        self._check_computed()
        return _units_of(self._units, part)

    def scores(self, part: str = "method") -> list[float]:
        """Return the scores of one part, 0..1."""
        if self._units:
            return [unit.score for unit in self.of(part)]
        scores = self if part == "method" else getattr(self, part)
        if scores is not None and not scores.runs:
            self._check_computed()
        return [] if scores is None else list(scores.runs)

    def predictions(self, run: int = 0) -> Predictions:
        """Return what the method predicts for every user in one of its runs."""
        return predictions_of(*self.learned(run))

    def per_class(self, run: int = 0) -> tuple[ClassScore, ...]:
        """Return precision, recall and F1 of each class among the test users of a run; the users' side counts."""
        ready, outcome = self.learned(run)
        return ready.users.per_class(predicted_classes(outcome, ready.graph), ready.graph)

    def confusion(self, run: int = 0) -> NDArray[np.int64]:
        """Return how many test users of each class (rows) were given each class (columns); the users' side counts."""
        ready, outcome = self.learned(run)
        return ready.users.confusion(predicted_classes(outcome, ready.graph), ready.graph)

    def model(self, run: int = 0) -> Model:
        """Return what a run has trained, to be applied to users who join later; it is trained again, bit for bit. See `Model.predict`."""
        check_model(self.experiment)
        return train_model(self.experiment, run, self._given, score=self._score(run))

    def learned(self, run: int = 0) -> tuple[OpenUnit, Outcome]:
        """Return what a run of the method learned: learned again when it is first asked for, and kept."""
        if run not in self._learned:
            check_predictions(self.experiment)
            score = self._score(run)
            ready, outcome = learn_unit(RunUnit(self.experiment, run=run, given=self._given))
            check_same_score(ready, outcome, score)
            self._learned[run] = ready, outcome
        return self._learned[run]

    def plot(self, file: str | Path, kind: str = "score") -> None:
        """Draw the result as .svg or .png: its score beside control and structure, or another ``kind`` of figure."""
        if kind not in (*RUN_FIGURES, "score"):
            raise unknown_name("figure of a result", kind, (*RUN_FIGURES, "score"))
        path = check_output(Path(file), FIGURES)
        if kind == "score":
            scores = {part: scores for part in PARTS if (scores := self.scores(part))}
            score_figure(self.experiment, self.metric, scores).write(path)
        else:
            RUN_FIGURES[kind](*self.learned(0)).write(path)

    def table(self) -> str:
        """Return the result as a table with its sentences, as `graphveil run` prints it."""
        return "\n".join([result_table(self).text(), *result_sentences(self)])

    def to_dict(self) -> dict[str, Any]:
        """Return the result in the form that `--json` prints."""
        absent = {name for name in OPTIONAL if not getattr(self, name)}
        whole = self.model_dump(mode="json", include={*PRINTED - absent})
        for part in OTHER_PARTS:
            if whole.get(part):
                scores = {key: whole[part][key] for key in ("name", "runs", "mean", "low", "high", "also")}
                whole[part] = {key: each for key, each in scores.items() if each not in ("", [], {})}
        whole["privacy"] = None if self.privacy is None else self.privacy.to_dict()
        return whole

    def to_json(self) -> str:
        """Return one JSON object."""
        return json.dumps(self.to_dict())

    def _score(self, run: int) -> float:
        """The score that a run of the method had."""
        scores = {unit.run: unit.score for unit in self.of("method")}
        if run not in scores:
            raise InputError(f"run must be one of {', '.join(map(str, scores))}, got {run!r}")
        return scores[run]

    def _check_computed(self) -> None:
        if not self._units:
            raise InputError(
                f"this result of {self.method} was read from a file, without its units: run it again"
            )


# Fields that are kept in files and not printed by `graphveil run --json`; and those that it prints where they say something.
KEPT = frozenset({"experiment", "interrupted", "time", "seeds", "data_digest"})
PRINTED = Result.model_fields.keys() - KEPT
OPTIONAL = ("edgeless", "gain_over_edgeless", "unasked", "gain_over_unasked", "also")
# Fields that differ between two computations of the same result.
MEASURED = frozenset({"seconds", "peak_mb"})
# Fields that `graphveil results --json` prints, and those of them that say which experiment it was.
LISTED: dict[str, Any] = {
    **dict.fromkeys(Result.model_fields.keys() - {"answered", "also", *MEASURED}, True),
    **{part: {"mean", "low", "high", "name"} for part in OTHER_PARTS},
    "experiment": {"runs", "settings", "data_options", "budgets", "levels", "turnout", "volunteers"},
}
IDENTITY = ("method", "data", "task", "epsilon", "mechanism", "backbone", "seed", "experiment")
# Fields that are a mean with its interval: those of the parts, and the gains over them.
SUMMARIES = tuple(name for name in Result.model_fields if name in {*OTHER_PARTS, *GAINS.values()})
# Of the digest of a source, as many digits as tell versions apart.
SOURCE_DIGITS = 12


@dataclass(frozen=True)
class RecordOrigin:
    """The graphveil that computed something: its version, and the digest of its source."""

    version: str
    source: str

    def __str__(self) -> str:
        source = f", source {self.source[:SOURCE_DIGITS]}" if self.source else ""
        return f"graphveil {self.version}{source}"


class StoredResult(Result):
    """A result in the file of results: its number there, which no other ever has, its tags, and the source that computed it."""

    number: int
    tags: tuple[str, ...] = ()
    source: str = ""

    @property
    def origin(self) -> RecordOrigin:
        """The graphveil that computed it."""
        return RecordOrigin(self.version or "of an unknown version", self.source)

    @property
    def label(self) -> str:
        """Its number and its method, with its budget where it has one.

        >>> StoredResult(number=7, method="base", data="town", epsilon=2.0, runs=(0.5,), mean=0.5).label
        '7 (base, ε = 2)'
        """
        return f"{self.number} ({self.method}{f', ε = {self.epsilon:g}' if self.epsilon else ''})"

    def listing(self) -> dict[str, Any]:
        """Return what `graphveil results --json` prints: number, tags, source, and what the result says, but for what it took."""
        whole = self.model_dump(mode="json", include=LISTED, by_alias=True)
        whole |= {part: {"name": "", **whole[part]} for part in SUMMARIES if whole[part] is not None}
        whole |= {} if self._described else {"spec": None}
        return {"number": self.number, "tags": list(self.tags), "source": self.source, **whole}


def parse_json(text: Any) -> Any:
    """Return a JSON value; None where there is none, or where it is nested too deep to be read."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None


def _units_of(units: Sequence[UnitResult], part: str) -> list[UnitResult]:
    return sorted((unit for unit in units if unit.part == part), key=lambda unit: unit.run)


def _scores(units: Sequence[UnitResult], part: str = "method") -> PartScores:
    """Return the scores of a part; structure by the name of what was chosen most often, and without its runs."""
    scores = tuple(unit.score for unit in units)
    found = PartScores(**vars(t_interval(scores)), runs=scores)
    if part == "structure":
        names = Counter(unit.detail or "structure" for unit in units)
        return replace(found, name=names.most_common(1)[0][0], runs=())
    return replace(found, also=_measurements(units)) if part == "control" else found


def _measurements(units: Sequence[UnitResult]) -> dict[str, Measurement]:
    values = {name: tuple(unit.also[name] for unit in units) for name in units[0].also}
    return {name: Measurement(**vars(t_interval(each)), runs=each) for name, each in values.items()}


def gain_over(units: Sequence[UnitResult], others: Sequence[UnitResult]) -> Summary | None:
    """Return the paired difference of scores over the runs that both have; None where there are none."""
    scores = {unit.run: unit.score for unit in others}
    both = [(unit.score, scores[unit.run]) for unit in units if unit.run in scores]
    return paired_gain(*zip(*both, strict=True)) if both else None


def _verdict(experiment: Experiment, gains: Mapping[Part, Summary | None]) -> str | None:
    """Return the gains that the budgets bought, in words."""
    budgets, said = experiment.budgets, []
    if (gain := gains["control"]) is not None and budgets.epsilon is not None:
        nobody = "the private graph alone" if budgets.private_links else "asking nobody"
        said.append(verdict(gain, budgets.epsilon, gains["structure"], nobody))
    if (volunteers := gains["unasked"]) is not None:
        said.append(beside(volunteers, "volunteers alone"))
    if (edges := gains["edgeless"]) is not None and budgets.link_epsilon is not None:
        without = "no edges at all" if experiment.links.private_edges in (None, 1) else "public links alone"
        said.append(link_verdict(edges, budgets.link_epsilon, without))
    return "; ".join(said) or None


def _spent(privacy: Privacy) -> float:
    """Return the total ε of a run."""
    return sum(cost.epsilon or 0.0 for cost in (privacy.total, privacy.links) if cost is not None)


def result_table(result: Result) -> Table:
    """Return name, mean and interval of the method and of all that it is compared with, a row each."""
    name = result.method
    if result.epsilon is not None:
        name = f"{name}, {result.mechanism}, {_budget(result)}"
    structure, public = result.structure, result.also.get("links_public")
    some = public is not None and public.mean > 0
    same, other = ("with public links alone", "public links") if some else ("without edges", "no edges")
    scored, gain = False, True
    rows: list[tuple[str, Interval | None, bool]] = [
        (name, result, scored),
        ("control, ε = 0", result.control, scored),
        (f"structure ({structure.name if structure else ''})", structure, scored),
        ("gain over the control", result.gain, gain),
        (f"the same {same}", result.edgeless, scored),
        (f"gain over {other}", result.gain_over_edgeless, gain),
        ("the same with volunteers alone", result.unasked, scored),
        ("gain over volunteers alone", result.gain_over_unasked, gain),
        ("gain over structure", result.gain_over_structure, gain),
    ]
    return Table.of(
        (f"{result.metric} on {result.data}", "mean", "95% interval"),
        (
            (what, points(each.mean, signed), low_to_high(each, signed))
            for what, each, signed in rows
            if each is not None
        ),
    )


def result_sentences(result: Result) -> list[str]:
    """Return what stands below the table: the verdict, what was measured besides, who answered, and what it cost."""
    said = [result.verdict] if result.verdict else []
    if "norm_error" in result.also:
        said.append(_norm_sentence(result))
    if "links_kept" in result.also:
        said.append(_links_sentence(result.also))
    if "workers" in result.also:
        said.append(_workers_sentence(result.also))
    if result.answered and result.answered["answered"] < result.answered["asked"]:
        said.append(_turnout_sentence(result))
    if result.privacy is not None:
        said.append(result.privacy.sentence)
    return said


def _budget(result: Result) -> str:
    """The ε of a result; where users choose a level, from the strictest to the most relaxed."""
    features = None if result.privacy is None else result.privacy.features
    levels = None if features is None else features.per_level
    return f"{budget(levels[0])} to {levels[-1]:g} by level" if levels else budget(result.epsilon)


def _links_sentence(also: Mapping[str, Measurement]) -> str:
    """Return a sentence about the number of pairs in the private graph, and about those left out."""
    kept = also["links_kept"].mean
    if "links_public" in also:
        return f"private graph: {kept:,.0f} pairs, {also['links_public'].mean:,.0f} of them public links"
    left_out = also["links_left_out"].mean
    return f"private graph: {kept:,.0f} pairs; {left_out:,.1f} links are expected among reported pairs that were left out"


def _workers_sentence(also: Mapping[str, Measurement]) -> str:
    """Return a sentence about the workers that shared each run, and the memory and traffic of each."""
    count = round(also["workers"].mean)

    def each(name: str) -> str:
        return ", ".join(f"{also[f'worker_{rank}_{name}'].mean:,.0f}" for rank in range(count))

    if count == 1:
        return f"one worker held the whole graph, in {each('peak_mb')} MB, {each('beyond_mb')} of them beyond libraries"
    return (
        f"{count} workers shared each run: peaks {each('peak_mb')} MB, beyond libraries {each('beyond_mb')} MB, for {each('users')} "
        f"users of their own and {each('halo_rows')} rows sent for a hop; sent {each('sent_mb')} MB"
    )


def _norm_sentence(result: Result) -> str:
    """Return a sentence about the error of predicted norms, beside the control's and a constant guess's."""
    error, control = result.also["norm_error"], result.control
    interval = "" if error.low is None else f" ({rounded(error.low)} to {rounded(error.high)})"
    beside = "" if control is None else f", control {rounded(control.also['norm_error'].mean)}"
    constant = rounded(result.also["norm_constant"].mean)
    return f"norm: mean absolute error {rounded(error.mean)}{interval}{beside}, constant guess {constant}"


def _turnout_sentence(result: Result) -> str:
    """Return a sentence about the users who answered, and how they differ from all."""
    asked, answered, also = result.answered["asked"], result.answered["answered"], result.also
    degrees = percent(also["degree_bias"].mean, "+.1f")
    # Where users have several labels each, there is no class to differ by.
    differ = f"their links differ from everybody's by {degrees}"
    if "class_bias" in also:
        differ = f"their classes differ from everybody's by {percent(also['class_bias'].mean)}, their links by {degrees}"
    return f"{answered:,} of {asked:,} users who were asked answered, and all were charged; {differ}"
