"""Result: what an experiment says, as an object, as JSON, and in words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment, Given
from graphveil.experiments.model import Model, check_model, train_model
from graphveil.experiments.parts import PARTS
from graphveil.experiments.predictions import (
    Predictions,
    check_predictions,
    check_same_score,
    learn_again,
    predicted_classes,
    predictions_of,
)
from graphveil.experiments.run_figures import RUN_FIGURES, score_figure
from graphveil.experiments.table import Table
from graphveil.experiments.unit import Ready, UnitResult
from graphveil.files import FIGURES, check_output
from graphveil.graphs.metrics import ClassScore
from graphveil.methods.tasks import Outcome
from graphveil.number_format import ONE_RUN, budget, counted, gained, low_to_high, percent, points, rounded
from graphveil.plugins import unknown_name
from graphveil.privacy.record import Privacy
from graphveil.statistics import Summary, beside, link_verdict, paired_gain, t_interval, verdict

Row = tuple[str, str, str]


def result_text(fields: dict[str, Any]) -> str:
    """Table and sentences as plain text; ``fields`` are those of `Result.to_dict`."""
    return "\n".join([result_table(fields).text(), *result_sentences(fields)])


def result_table(fields: dict[str, Any]) -> Table:
    """What it is, its mean, and its interval: a row for the method and for all that it is compared with."""
    head, *rows = result_rows(fields)
    return Table.of(head, rows)


def result_summary(fields: dict[str, Any], interrupted: bool = False) -> str:
    """A result in a line or two: what it is, what it reached beside its control, and the verdict."""
    if "mean" not in fields:
        return f"Result({fields['method']} on {fields['data']}: no run is finished)"
    mean, interval = numbers(fields)
    runs = counted(len(fields["runs"]), "run")
    told = f"{fields['metric']} {mean} ({runs if interval == ONE_RUN else f'{interval}, {runs}'}"
    told += ", interrupted)" if interrupted else ")"
    if fields["control"]:
        told += f", control {numbers(fields['control'])[0]}"
    if fields["gain"]:
        told += f", gain {gained(Summary(**fields['gain']))}"
    at = "" if fields["epsilon"] is None else f", {_budget(fields)}"
    verdict = f"\n{fields['verdict']}" if fields["verdict"] else ""
    return f"Result({fields['method']} on {fields['data']}{at}: {told}){verdict}"


def result_rows(fields: dict[str, Any]) -> list[Row]:
    """The lines of the table, the head first: what it is, its mean, and its interval."""
    rows: list[Row] = [(f"{fields['metric']} on {fields['data']}", "mean", "95% interval")]
    name = fields["method"]
    if fields["epsilon"] is not None:
        name = f"{name}, {fields['mechanism']}, {_budget(fields)}"
    rows.append((name, *numbers(fields)))
    if fields["control"]:
        rows.append(("control, ε = 0", *numbers(fields["control"])))
    if fields["structure"]:
        rows.append((f"structure ({fields['structure']['name']})", *numbers(fields["structure"])))
    if fields["gain"]:
        rows.append(("gain over the control", *numbers(fields["gain"], signed=True)))
    if "edgeless" in fields:
        some = fields["also"].get("links_public", {"mean": 0})["mean"] > 0
        same, other = ("with public links alone", "public links") if some else ("without edges", "no edges")
        rows.append((f"the same {same}", *numbers(fields["edgeless"])))
        rows.append((f"gain over {other}", *numbers(fields["gain_over_edgeless"], signed=True)))
    if "unasked" in fields:
        rows.append(("the same with volunteers alone", *numbers(fields["unasked"])))
        rows.append(("gain over volunteers alone", *numbers(fields["gain_over_unasked"], signed=True)))
    if fields["gain_over_structure"]:
        rows.append(("gain over structure", *numbers(fields["gain_over_structure"], signed=True)))
    return rows


def result_sentences(fields: dict[str, Any]) -> list[str]:
    """What stands below the table: the verdict, what was measured besides, who answered, and what it cost."""
    told = [fields["verdict"]] if fields["verdict"] else []
    also = fields.get("also", {})
    if "norm_error" in also:
        told.append(norm_line(fields))
    if "links_kept" in also:
        told.append(links_line(also))
    if "workers" in also:
        told.append(workers_line(also))
    if fields["answered"]["answered"] < fields["answered"]["asked"]:
        told.append(turnout_line(fields))
    if fields["privacy"] is not None:
        told.append(Privacy.model_validate(fields["privacy"]).sentence)
    return told


def _budget(fields: dict[str, Any]) -> str:
    """The ε of a result; where users choose a level, from the strictest to the most relaxed."""
    features = (fields["privacy"] or {}).get("features") or {}
    levels = features.get("per_level")
    return f"{budget(levels[0])} to {levels[-1]:g} by level" if levels else budget(fields["epsilon"])


def links_line(also: dict[str, Any]) -> str:
    """How many pairs the private graph has, and what is known of the others."""
    kept, left_out = (also[name]["mean"] for name in ("links_kept", "links_left_out"))
    if "links_public" in also:
        public = also["links_public"]["mean"]
        return f"private graph: {kept:,.0f} pairs, {public:,.0f} of them public links"
    return f"private graph: {kept:,.0f} pairs; {left_out:,.1f} links are expected among reported pairs that were left out"


def workers_line(also: dict[str, Any]) -> str:
    """How many workers shared each run, and the memory and the traffic of each."""
    count = round(also["workers"]["mean"])

    def each(name: str) -> str:
        return ", ".join(f"{also[f'worker_{rank}_{name}']['mean']:,.0f}" for rank in range(count))

    if count == 1:
        return f"one worker held the whole graph, in {each('peak_mb')} MB, {each('beyond_mb')} of them beyond libraries"
    return (
        f"{count} workers shared each run: peaks {each('peak_mb')} MB, beyond libraries {each('beyond_mb')} MB, for {each('users')} "
        f"users of their own and {each('halo_rows')} rows sent for a hop; sent {each('sent_mb')} MB"
    )


def norm_line(fields: dict[str, Any]) -> str:
    """How well norms were predicted, beside the control and one guess for everybody."""
    error, control = fields["also"]["norm_error"], fields["control"]
    interval = "" if error["low"] is None else f" ({rounded(error['low'])} to {rounded(error['high'])})"
    beside = "" if control is None else f", control {rounded(control['also']['norm_error']['mean'])}"
    constant = rounded(fields["also"]["norm_constant"]["mean"])
    return f"norm: mean absolute error {rounded(error['mean'])}{interval}{beside}, constant guess {constant}"


def turnout_line(fields: dict[str, Any]) -> str:
    """Who answered, and how they differ from all."""
    asked, answered, also = fields["answered"]["asked"], fields["answered"]["answered"], fields["also"]
    degrees = percent(also["degree_bias"]["mean"], "+.1f")
    # Where users have several labels each, there is no class to differ by.
    differ = f"their links differ from everybody's by {degrees}"
    if "class_bias" in also:
        differ = f"their classes differ from everybody's by {percent(also['class_bias']['mean'])}, their links by {degrees}"
    return f"{answered:,} of {asked:,} users who were asked answered, and all were charged; {differ}"


def numbers(fields: dict[str, Any], signed: bool = False) -> tuple[str, str]:
    """Mean and interval in points."""
    summary = Summary(fields["mean"], fields["low"], fields["high"])
    return points(summary.mean, signed), low_to_high(summary, signed)


# Digits of a digest that tell graphs of one name apart.
SHOWN_DIGITS = 8


@dataclass(frozen=True, repr=False)
class Result:
    """All units of an experiment that are there, and what they say together.

    ``data_digest`` is that of the graph's content. ``given`` are graph and users, where they were given as objects.

    A result holds scores, not models. `predictions`, `per_class` and `confusion` learn one run again, which gives the same bit for bit
    because a run depends on data, settings and seed alone; that takes as long as the run did, once for each run that is asked for.
    """

    spec: Experiment
    metric: str
    version: str
    units: tuple[UnitResult, ...]
    total_seconds: float
    interrupted: bool = False
    data_digest: str = ""
    given: Given | None = field(default=None, compare=False)
    _learned: dict[int, tuple[Ready, Outcome]] = field(default_factory=dict, init=False, compare=False)

    def __repr__(self) -> str:
        return result_summary(self.to_dict(), self.interrupted)

    @property
    def data_name(self) -> str:
        """What the data is called where results are kept: with a digest of its content, where it was given as objects."""
        if self.given is None:
            return self.spec.data
        return f"{self.spec.data}@{self.data_digest[:SHOWN_DIGITS]}"

    def table(self) -> str:
        """The result as a table with its sentences, as `graphveil run` prints it."""
        return result_text(self.to_dict())

    def predictions(self, run: int = 0) -> Predictions:
        """What the method predicts for every user in one of its runs."""
        return predictions_of(self.spec, run, *self.learned(run))

    def per_class(self, run: int = 0) -> tuple[ClassScore, ...]:
        """Precision, recall and F1 of each class among the test users of a run; the users' side counts."""
        ready, outcome = self.learned(run)
        chosen = predicted_classes(outcome, several=ready.graph.multilabel)
        return ready.users.per_class(chosen, ready.graph)

    def confusion(self, run: int = 0) -> NDArray[np.int64]:
        """How many test users of each class (rows) were given each class (columns); the users' side counts."""
        ready, outcome = self.learned(run)
        chosen = predicted_classes(outcome, several=ready.graph.multilabel)
        return ready.users.confusion(chosen, ready.graph)

    def model(self, run: int = 0) -> Model:
        """What a run has trained, to be applied to users who join later; it is trained again, bit for bit. See `Model.predict`."""
        check_model(self.spec)
        return train_model(self.spec, run, self.given, score=self._score(run))

    def plot(self, file: str | Path, kind: str = "score") -> None:
        """Draw the result as .svg or .png: its score beside control and structure, or another ``kind`` of figure."""
        if kind not in (*RUN_FIGURES, "score"):
            raise unknown_name("figure of a result", kind, (*RUN_FIGURES, "score"))
        path = check_output(Path(file), FIGURES)
        if kind == "score":
            scores = {part: self.scores(part) for part in PARTS if self.of(part)}
            score_figure(self.spec, self.metric, scores).write(path)
        else:
            RUN_FIGURES[kind](self.spec, *self.learned(0)).write(path)

    def learned(self, run: int = 0) -> tuple[Ready, Outcome]:
        """What a run of the method learned: learned again when it is first asked for, and kept."""
        if run not in self._learned:
            check_predictions(self.spec)
            score = self._score(run)
            ready, outcome = learn_again(self.spec, run, self.given)
            check_same_score(self.spec, run, ready, outcome, score)
            self._learned[run] = ready, outcome
        return self._learned[run]

    def _score(self, run: int) -> float:
        """The score that a run of the method had."""
        scores = {unit.run: unit.score for unit in self.of("method")}
        if run not in scores:
            raise InputError(f"run must be one of {', '.join(map(str, scores))}, got {run!r}")
        return scores[run]

    def of(self, part: str) -> list[UnitResult]:
        """The units of one part, in the order of runs."""
        return sorted((unit for unit in self.units if unit.part == part), key=lambda unit: unit.run)

    def scores(self, part: str = "method") -> list[float]:
        """The scores of one part, 0..1."""
        return [unit.score for unit in self.of(part)]

    @property
    def mean(self) -> float:
        """The method's mean score, 0..1."""
        return t_interval(self.scores()).mean

    @property
    def gain(self) -> Summary | None:
        """The paired difference to the control, over the runs that have both."""
        return self._over("control")

    @property
    def gain_over_structure(self) -> Summary | None:
        """The paired difference to what structure gives, over the runs that have both."""
        return self._over("structure")

    @property
    def gain_over_edgeless(self) -> Summary | None:
        """The paired difference to the same method without edges, where links are private."""
        return self._over("edgeless")

    @property
    def gain_over_unasked(self) -> Summary | None:
        """The paired difference to the same method that asks nobody but volunteers, where there are some."""
        return self._over("unasked")

    def _over(self, part: str) -> Summary | None:
        other = {unit.run: unit.score for unit in self.of(part)}
        both = [(unit.score, other[unit.run]) for unit in self.of("method") if unit.run in other]
        return paired_gain(*zip(*both, strict=True)) if both else None

    @property
    def verdict(self) -> str | None:
        """What the budget bought, in words."""
        gain, budgets = self.gain, self.spec.budgets
        said = []
        if gain is not None and budgets.epsilon is not None:
            nobody = "the private graph alone" if budgets.private_links else "asking nobody"
            said.append(verdict(gain, budgets.epsilon, self.gain_over_structure, nobody))
        if (volunteers := self.gain_over_unasked) is not None:
            said.append(beside(volunteers, "volunteers alone"))
        if (edges := self.gain_over_edgeless) is not None and budgets.link_epsilon is not None:
            without = "no edges at all" if self.spec.private_edges in (None, 1) else "public links alone"
            said.append(link_verdict(edges, budgets.link_epsilon, without))
        return "; ".join(said) or None

    def to_dict(self) -> dict[str, Any]:
        """The result in the form that `--json` prints."""
        method, spec = self.of("method"), self.spec
        gain, over = self.gain, self.gain_over_structure
        structure = self._summary("structure", runs=False)
        if structure is not None:
            names = Counter(unit.detail or "structure" for unit in self.of("structure"))
            structure = {"name": names.most_common(1)[0][0], **structure}
        also = self._also("method")
        return {
            "method": spec.method,
            "data": spec.data,
            "task": spec.task,
            "metric": self.metric,
            "epsilon": spec.budgets.epsilon,
            "mechanism": spec.budgets.mechanism if spec.budgets.epsilon is not None else None,
            "backbone": spec.backbone if spec.method != "structure" else None,
            "seed": spec.seed,
            "version": self.version,
            **(self._summary("method") or {}),
            "control": self._summary("control"),
            "structure": structure,
            "gain": None if gain is None else asdict(gain),
            "gain_over_structure": None if over is None else asdict(over),
            **self._beside("edgeless"),
            **self._beside("unasked"),
            "verdict": self.verdict,
            "answered": self._answered(method),
            "privacy": max((unit.privacy for unit in method), key=_spent, default=None),
            "seconds": self._seconds(method),
            "peak_mb": max((unit.peak_mb for unit in self.units), default=None),
            **({"also": also} if also else {}),
        }

    def _beside(self, part: str) -> dict[str, Any]:
        """A part that only some experiments have: the same method without edges, or without asking anybody but volunteers."""
        gain = self._over(part)
        if gain is None:
            return {}
        return {part: self._summary(part), f"gain_over_{part}": asdict(gain)}

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict())

    def _summary(self, part: str, runs: bool = True) -> dict[str, Any] | None:
        scores = self.scores(part)
        if not scores:
            return None
        summary = t_interval(scores)
        numbers = {"mean": summary.mean, "low": summary.low, "high": summary.high}
        if not runs:
            return numbers
        also = self._also(part)
        return {"runs": scores, **numbers, **({"also": also} if also and part == "control" else {})}

    def _also(self, part: str) -> dict[str, Any]:
        """What was measured besides the score, each with its mean and interval."""
        units = self.of(part)
        summaries = {}
        for name in units[0].also if units else ():
            values = [unit.also[name] for unit in units]
            summary = t_interval(values)
            summaries[name] = {"mean": summary.mean, "low": summary.low, "high": summary.high, "runs": values}
        return summaries

    def _answered(self, units: Sequence[UnitResult]) -> dict[str, int]:
        """How many users were asked, and how many of them answered: means over runs."""
        count = max(len(units), 1)
        return {
            name: round(sum(getattr(unit, name) for unit in units) / count) for name in ("asked", "answered")
        }

    def _seconds(self, units: Sequence[UnitResult]) -> dict[str, float]:
        stages = ("report", "denoise", "train")
        each = {stage: sum(unit.seconds[stage] for unit in units) / max(len(units), 1) for stage in stages}
        return {**each, "total": self.total_seconds}


def _spent(privacy: dict[str, Any]) -> float:
    """What a run cost in all: of several runs the dearest is told."""
    costs = [privacy[subject] for subject in ("total", "links") if privacy.get(subject)]
    return float(sum(cost["epsilon"] or 0.0 for cost in costs))
