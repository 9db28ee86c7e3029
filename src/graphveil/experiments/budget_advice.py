"""Advice on a budget: what veil would gain over structure, from public numbers and measured gains."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from importlib import resources
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.figure import HEIGHT, INK, METHOD, TEXT_SIZE, TITLE_SIZE, WIDTH, Drawing
from graphveil.experiments.page import Section, page
from graphveil.experiments.table import Table
from graphveil.experiments.unit import make_ready
from graphveil.graphs import Users
from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.graphs.panel import Panel
from graphveil.methods.job import Job, Progress
from graphveil.methods.structure_posterior import Posterior, structure_posterior
from graphveil.methods.veil_answers import Known, teacher_of, usually_open
from graphveil.methods.veil_model import PublicModel, taught_by_panel
from graphveil.number_format import counted, rounded
from graphveil.privacy import Nobody

Floats = NDArray[np.float64]
# Labelled pairs that count beforehand for as many as agree by chance.
STRENGTH = 10.0


@dataclass(frozen=True)
class PublicNumbers:
    """Numbers of a graph that its server knows: sizes, labels, and how sure graph and labels are of everybody else.

    ``degree`` is the mean; ``agreeing`` the share of edges between labelled users who share a class. ``sure`` is how likely the
    likeliest class is on average, where the label is not known, ``doubt`` the entropy in nats; ``left`` is what structure lacks
    on validation users of the graph's metric, 0..1.
    """

    users: int
    dims: int
    classes: int
    trained: int
    validated: int
    degree: float
    agreeing: float
    sure: float
    doubt: float
    left: float

    @classmethod
    def of(cls, graph: Graph, posterior: Posterior) -> PublicNumbers:
        """Those of a graph whose posterior is known; labels are those of users who train and validate."""
        rows = unlabelled_rows(graph, posterior)
        entropy = -(rows * np.log(np.maximum(rows, 1e-12))).sum(axis=1)
        return cls(
            graph.node_count,
            graph.feature_count,
            graph.class_count,
            int(graph.train.sum()),
            int(graph.validation.sum()),
            float(graph.degrees.mean()),
            agreeing_share(graph),
            float(rows.max(axis=1).mean()),
            float(entropy.mean()),
            1 - posterior.validation_score,
        )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(field.name for field in fields(cls))


def unlabelled_rows(graph: Graph, posterior: Posterior) -> Floats:
    """The calibrated probabilities of those whose label is not used in training."""
    rows: Floats = posterior.rows[~graph.train]
    return rows


def agreeing_share(graph: Graph) -> float:
    """The share of edges between labelled users who share a class; few such edges count little against chance."""
    labels = graph.labels
    held = labels[labels != UNKNOWN]
    shares = np.bincount(held, minlength=graph.class_count) / max(len(held), 1)
    chance = float((shares**2).sum())
    ends = graph.edge_list()
    first, second = labels[ends[0]], labels[ends[1]]
    known = (first != UNKNOWN) & (second != UNKNOWN)
    same = float((first[known] == second[known]).sum())
    return (same + STRENGTH * chance) / (float(known.sum()) + STRENGTH)


def within_reach(rows: Floats, epsilon: float) -> float:
    """What answers could add to the expected accuracy if every row told its class: each user's own answer, no neighbours.

    An answer r of a list of K classes has the chance P(r | c) by k-ary response; the best guess is right with Σ_r max_c q_c·P(r | c).

    >>> round(within_reach(np.array([[0.5, 0.5]]), math.log(3)), 6)
    0.25
    """
    width, _ = usually_open(epsilon, rows.shape[1])
    ordered = -np.sort(-rows, axis=1)
    top, rest = ordered[:, :width], ordered[:, width:].max(axis=1, initial=0.0)
    whole = math.exp(epsilon) + width - 1
    hit, miss = math.exp(epsilon) / whole, 1 / whole
    right = np.zeros(len(rows))
    for place in range(width):
        others = np.delete(top, place, axis=1).max(axis=1, initial=0.0)
        right += np.maximum(np.maximum(hit * top[:, place], miss * others), rest / width)
    # Never worse than the guess without an answer.
    return float(np.maximum(right - ordered[:, 0], 0).mean())


# Written by `python -m docs.advice`.
FILE = "measured_gains.csv"
COLUMNS = (
    *("graph", "seed", "panel", "epsilon", *PublicNumbers.names()),
    *("reach", "nats", "simulated", "tested", "structure", "gain"),
)
# What names of generated graphs begin with.
TOWN = "town"


@dataclass(frozen=True)
class Situation:
    """A graph and a budget: its public numbers, how many volunteers there are (0: none), and what is within reach at that ε.

    ``nats`` is what a volunteer's row tells of the class, and ``simulated`` what answers add to the accuracy in worlds drawn with such
    rows; both are 0 where they are not known. ``town`` says that the graph is generated: features tell more there than in real graphs.
    """

    numbers: PublicNumbers
    epsilon: float
    reach: float
    panel: int = 0
    nats: float = 0.0
    simulated: float = 0.0
    town: bool = False


@dataclass(frozen=True)
class MeasuredGain:
    """One run: veil's score less structure's on test users, in points. ``graph`` names graph and split, or the town."""

    graph: str
    seed: int
    situation: Situation
    tested: int
    structure: float
    gain: float

    @property
    def town(self) -> bool:
        """Whether the graph was generated."""
        return self.situation.town

    @property
    def data(self) -> str:
        """The graph without its split."""
        return self.graph.split(" ")[0]


@cache
def measured_gains() -> tuple[MeasuredGain, ...]:
    """All runs that come with the package."""
    text = resources.files(__package__).joinpath("catalogue", FILE).read_text(encoding="utf-8")
    return tuple(_read_gain(row) for row in csv.DictReader(text.splitlines()))


def _read_gain(row: dict[str, Any]) -> MeasuredGain:
    whole = {"users", "dims", "classes", "trained", "validated"}
    numbers: dict[str, Any] = {
        name: (int if name in whole else float)(row[name]) for name in PublicNumbers.names()
    }
    situation = Situation(
        PublicNumbers(**numbers),
        float(row["epsilon"]),
        float(row["reach"]),
        int(row["panel"]),
        float(row["nats"]),
        float(row["simulated"]),
        row["graph"].startswith(TOWN),
    )
    return MeasuredGain(
        row["graph"],
        int(row["seed"]),
        situation,
        int(row["tested"]),
        float(row["structure"]),
        float(row["gain"]),
    )


# Who teaches: a part of the users, a panel whose rows are there, a panel of which only the size is known.
Kind = Literal["private", "panel", "planned"]
# Graphs of the sort that is asked about, real ones or towns, count for so many of the other sort.
OWN_WEIGHT = 10.0
# Errors in towns count for so much in intervals of real graphs, and the other way round.
OTHER_SORT = 0.02
# How strongly weights keep to 0, in lines.
RIDGE = 3.0
# Differences beyond this many points count linearly.
HUBER = 3.0
# An error of this many points, this share of the gain and this share of what is within reach is one unit of what intervals are made of.
UNIT, UNIT_SHARE, UNIT_REACH = 0.5, 0.5, 0.05
# Intervals leave out so much at each end.
TAIL = 0.05
# Volunteers' rows that tell less than this many nats count as this.
LEAST_NATS = 0.01
# Veil falls back to structure: an interval that comes as near to no gain as this includes it.
NEAR = 1.0
# The variance of a report of a unit row by privunit, times its numbers, at some budgets; in between it is taken as a power of ε.
NOISE_BUDGETS, REPORT_NOISE = (0.5, 1.0, 2.0, 4.0, 8.0), (25.2, 6.33, 1.62, 0.435, 0.133)


@dataclass(frozen=True)
class Predicted:
    """A gain in points, with an interval that held in nine of ten lines on graphs which the curve had not seen."""

    gain: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class GainModel:
    """Gains are a share of what there is to gain; the share is a logistic curve of public numbers.

    ``errors`` are those on graphs that were left out of the fit, in units that grow with the gain, and ``counts`` how much each counts.
    """

    kind: Kind
    weights: Floats
    centre: Floats
    width: Floats
    errors: Floats
    counts: Floats
    towns: NDArray[np.bool_]

    @classmethod
    def fit(cls, kind: Kind, lines: Sequence[MeasuredGain], *, town: bool = False) -> GainModel:
        """The curve of all lines of that kind, for towns or for real graphs, and its errors on each graph by the curve of all others."""
        lines = [line for line in lines if (line.situation.panel > 0) == (kind != "private")]
        points = np.array([features(line.situation, kind) for line in lines])
        most = np.array([_most(line.situation, kind) for line in lines])
        gains = np.array([line.gain for line in lines])
        counts = _line_counts(lines, town)
        centre, width = points.mean(axis=0), points.std(axis=0) + 1e-9
        scaled = (points - centre) / width
        weights = _fitted(scaled, most, gains, counts)
        names = np.array([line.data for line in lines])
        towns = np.array([line.town for line in lines])
        held = np.empty(len(lines))
        for name in np.unique(names):
            out = names == name
            others = _fitted(scaled[~out], most[~out], gains[~out], counts[~out], weights)
            held[out] = _curve(others, scaled[out], most[out])
        units = [_unit(line.situation, kind, gain) for line, gain in zip(lines, held.tolist(), strict=True)]
        return cls(kind, weights, centre, width, (gains - held) / np.array(units), counts, towns)

    def predict(self, situation: Situation) -> Predicted:
        """The gain that is expected, and its interval."""
        point = (features(situation, self.kind) - self.centre) / self.width
        most = np.array([_most(situation, self.kind)])
        gain = float(_curve(self.weights, point[None, :], most)[0])
        unit = _unit(situation, self.kind, gain)
        counts = np.where(self.towns == situation.town, 1.0, OTHER_SORT) * self.counts
        low, high = (gain + unit * _quantile(self.errors, counts, at) for at in (TAIL, 1 - TAIL))
        low = min(low, 0.0) if low < NEAR else low
        return Predicted(gain, min(low, gain), max(min(high, _left(situation)), gain))


def features(situation: Situation, kind: Kind) -> Floats:
    """The numbers that decide; all but the last, whether the graph is a town, may only raise a gain."""
    told = {
        "private": [teaching_signal(situation)],
        "panel": [math.log(max(situation.simulated, 1e-3)), math.log(max(situation.nats, LEAST_NATS))],
        "planned": [math.log(max(situation.panel, 1))],
    }
    return np.array([*told[kind], float(situation.town)])


def teaching_signal(situation: Situation) -> float:
    """The logarithm of √(n/2C)/σ(ε): how far class means of n private reports stand out of their noise, but for what features tell.

    >>> from graphveil.experiments.budget_advice import PublicNumbers
    >>> numbers = PublicNumbers(1000, 64, 2, 500, 250, 8.0, 0.8, 0.7, 0.4, 0.3)
    >>> round(math.exp(2 * teaching_signal(Situation(numbers, 1.0, 0.1))), 2)
    19.75
    """
    numbers = situation.numbers
    teachers = max(numbers.trained, numbers.users / 2)
    noise = np.interp(math.log(situation.epsilon), np.log(NOISE_BUDGETS), np.log(REPORT_NOISE))
    return 0.5 * (math.log(teachers / (2 * numbers.classes)) - float(noise))


def _left(situation: Situation) -> float:
    """All that structure lacks, in points."""
    return 100 * max(situation.numbers.left, 0.001)


def _most(situation: Situation, kind: Kind) -> float:
    """What gains are a share of, in points: all that structure lacks; without volunteers' rows its geometric mean with what own answers
    could add at this budget. Neighbours' answers lift gains above the latter."""
    if kind == "panel":
        return _left(situation)
    return math.sqrt(_left(situation) * 100 * max(situation.reach, 1e-4))


def _unit(situation: Situation, kind: Kind, gain: float) -> float:
    """What an error is counted in, in points: more where more is foretold, and where more is within reach."""
    reach = situation.simulated if kind == "panel" else situation.reach
    return UNIT + UNIT_SHARE * gain + UNIT_REACH * 100 * reach


def _line_counts(lines: Sequence[MeasuredGain], town: bool) -> Floats:
    """How much lines count: more on graphs of the same sort, and not more where there are more lines at one budget."""
    keys = [(line.graph, line.situation.epsilon, line.situation.panel) for line in lines]
    times = {key: keys.count(key) for key in set(keys)}
    return np.array(
        [
            (OWN_WEIGHT if line.town == town else 1.0) / times[key]
            for line, key in zip(lines, keys, strict=True)
        ]
    )


def _curve(weights: Floats, points: Floats, most: Floats) -> Floats:
    share: Floats = most / (1 + np.exp(-np.clip(points @ weights[1:] + weights[0], -30, 30)))
    return share


def _fitted(
    points: Floats, most: Floats, gains: Floats, counts: Floats, start: Floats | None = None
) -> Floats:
    """The weights of the least penalised error; large errors count linearly."""
    # Loaded where something is fitted: most commands fit nothing.
    from scipy.optimize import minimize

    def loss(weights: Floats) -> tuple[float, Floats]:
        curve = _curve(weights, points, most)
        away = curve - gains
        value = HUBER**2 * (np.sqrt(1 + (away / HUBER) ** 2) - 1)
        slope = counts * away / np.sqrt(1 + (away / HUBER) ** 2) * curve * (1 - curve / most)
        kept = np.concatenate([[0.0], weights[1:]])
        return (
            float((counts * value).sum() + RIDGE / 2 * (kept**2).sum()),
            np.concatenate([[slope.sum()], slope @ points]) + RIDGE * kept,
        )

    last = points.shape[1] - 1
    begin = np.concatenate([[-2.0], np.zeros(points.shape[1])]) if start is None else start
    bounds = [
        (None, None),
        *((0.0, None) if place < last else (None, None) for place in range(last + 1)),
    ]
    found: Floats = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=bounds).x
    return found


def _quantile(values: Floats, counts: Floats, at: float) -> float:
    """The value below which this share of the counts lies."""
    order = np.argsort(values)
    share = np.cumsum(counts[order]) / counts.sum()
    return float(values[order][min(int(np.searchsorted(share, at)), len(values) - 1)])


Whole = NDArray[np.int64]
# So many users are drawn at least.
DRAWS = 20_000
# Probabilities below this count as this.
SMALLEST = 1e-6


@dataclass(frozen=True, eq=False)
class Told:
    """What volunteers' rows tell: ``scores`` of each by a model that the others taught, their classes, and nats on average."""

    scores: Floats
    classes: Whole
    nats: float


def told_by(graph: Graph, posterior: Posterior, model: PublicModel) -> Told:
    """What the volunteers of a graph tell; nothing of themselves where the model is about their neighbours."""
    assert graph.panel is not None
    users = graph.panel.users
    scores = np.zeros((len(users), graph.class_count)) if model.own is None else model.own
    known = graph.labels[users]
    classes = np.where(known == UNKNOWN, posterior.rows[users].argmax(axis=1), known)
    return Told(scores, classes.astype(np.int64), max(model.gain or 0.0, 0.0))


def simulated_gain(rows: Floats, told: Told, epsilon: float, seed: int = 0) -> float:
    """What own answers add to the accuracy in drawn worlds, 0..1; neighbours are left out.

    Everybody's class is drawn from what graph and labels say (``rows``), and the scores of a volunteer of that class stand for the
    scores of the own row. Lists, channel and decoding are veil's; the users of one half are decoded by tables of the other.
    """
    random = np.random.default_rng(seed)
    prior = np.maximum(np.tile(rows, (max(1, math.ceil(DRAWS / len(rows))), 1)), SMALLEST)
    prior /= prior.sum(axis=1, keepdims=True)
    count, kinds = prior.shape
    truth = np.minimum((prior.cumsum(axis=1) < random.random((count, 1))).sum(axis=1), kinds - 1)
    scores = _drawn_scores(told, truth, kinds, random)
    width, add = usually_open(epsilon, kinds)
    lists = np.argsort(-prior, axis=1, kind="stable")[:, :width]
    own = np.take_along_axis(scores + (np.log(prior) if add else 0.0), lists, axis=1)
    places = _k_ary(own.argmax(axis=1), width, epsilon, random)
    least = 1 / (math.exp(epsilon) + width - 1)
    everybody = np.arange(count)
    likely = np.zeros((count, kinds))
    likely[everybody, truth] = 1.0
    asked = learn.Asked(everybody, lists, places, prior.max(axis=1), least)
    folds = random.permutation(count) % 2
    by_fold, _ = learn.class_evidence(asked, learn.Judged(everybody, likely, folds), kinds)
    after = np.log(prior) + by_fold[folds, everybody]
    return float((after.argmax(axis=1) == truth).mean() - (prior.argmax(axis=1) == truth).mean())


def _drawn_scores(told: Told, truth: Whole, kinds: int, random: np.random.Generator) -> Floats:
    """Scores of volunteers of each drawn class; where nobody volunteers of a class, a row of it tells nothing."""
    scores = np.zeros((len(truth), kinds))
    for kind in range(kinds):
        pool = told.scores[told.classes == kind]
        chosen = np.flatnonzero(truth == kind)
        if len(pool):
            scores[chosen] = pool[random.integers(0, len(pool), len(chosen))]
    return scores


def _k_ary(places: Whole, width: int, epsilon: float, random: np.random.Generator) -> Whole:
    """The same place with the chance that k-ary response gives it, else one of the others."""
    kept = random.random(len(places)) < math.exp(epsilon) / (math.exp(epsilon) + width - 1)
    others = (places + random.integers(1, width, len(places))) % width
    return np.where(kept, places, others)


# A gain that is worth asking for, in points.
WORTH = 2.0
# Below this a gain is none; where as much as `TOO_MUCH` may come, asking nobody is not said to be as good.
NOTHING, TOO_MUCH = 0.5, 3.0
# With fewer labels than this share of the users, and a budget above this one, some real graphs gained more than others foretold: without a
# panel, asking nobody is not said to be as good there.
FEW_LABELS, SURPRISING = 0.1, 2.0
# How many times as many users or volunteers are looked at, and in how many steps.
MOST_TIMES, STEPS = 10.0, 61
# Without a panel: the fewest volunteers that are looked at, and the most. Panels of 100 and 300 have been measured.
FEWEST, MOST_VOLUNTEERS = 25, 1000
# The fewest volunteers that teach a model from which the next doubling is foretold.
SPLIT_PANEL = 40
# Published methods on ten real graphs at ε = 4, half of the labels and few: the best of them less structure (docs/veil.md).
OTHERS = (-11.6, 0.5)
OTHERS_SAID = (
    "Other private methods: none of those measured on real graphs at ε = 4 was clearly better than structure; the best on each was "
    f"from {-OTHERS[0]:g} points below it to {OTHERS[1]:g} above, within noise. This is a stored fact, not a prediction."
)
OTHERS_IN_TOWNS = (
    "Other private methods gain in towns too: 8 points over structure by ppgnn at ε = 0.5 and 19 by togl at ε = 4 in the town as it "
    "comes. This is a stored fact, not a prediction."
)


@dataclass(frozen=True)
class BudgetLine:
    """One budget: what veil would gain, in points, and what it would take to gain `WORTH`; None: not within what was looked at."""

    epsilon: float
    gain: float
    low: float
    high: float
    users_needed: int | None = None
    volunteers_needed: int | None = None
    # Whether a gain beyond the interval has been seen in such a case.
    surprising: bool = False

    @property
    def collect(self) -> str:
        """yes, no or open."""
        if self.gain < NOTHING and self.high < TOO_MUCH and not self.surprising:
            return "no"
        return "yes" if self.gain >= WORTH and self.low > 0 else "open"

    @property
    def verdict(self) -> str:
        """The same as a sentence."""
        if self.collect == "no":
            return "do not collect: asking nobody is as good"
        if self.collect == "yes":
            return "collect: answers are worth their budget"
        return "open: a pilot or volunteers would tell"

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**asdict(self), "collect": self.collect, "verdict": self.verdict}


@dataclass(frozen=True, eq=False)
class Ground:
    """A graph as advice sees it: its numbers, how sure graph and labels are of those without a label, and what volunteers tell.

    ``doubling`` is what twice as many volunteers would add to the nats of their rows.
    """

    numbers: PublicNumbers
    rows: Floats
    town: bool = False
    told: Told | None = None
    doubling: float = 0.0

    @property
    def panel(self) -> int:
        """How many volunteers there are."""
        return 0 if self.told is None else len(self.told.scores)

    @property
    def most_volunteers(self) -> int:
        """The most that are looked at: training users alone volunteer."""
        most = round(MOST_TIMES * self.panel) if self.panel else MOST_VOLUNTEERS
        return min(most, self.numbers.trained)

    def at(self, epsilon: float) -> Situation:
        """The graph and a budget."""
        here = Situation(self.numbers, epsilon, within_reach(self.rows, epsilon), town=self.town)
        if self.told is None:
            return here
        simulated = simulated_gain(self.rows, self.told, epsilon)
        return replace(here, panel=self.panel, nats=self.told.nats, simulated=simulated)

    def with_volunteers(self, situation: Situation, count: int) -> Situation:
        """The same with so many volunteers. What their rows would tell is foretold from those who are there; what answers add grows alike."""
        if self.told is None:
            return replace(situation, panel=count)
        most = math.log(self.numbers.classes)
        nats = min(max(self.told.nats + self.doubling * math.log2(count / self.panel), 0.0), most)
        simulated = situation.simulated * nats / max(self.told.nats, LEAST_NATS)
        return replace(situation, panel=count, nats=nats, simulated=min(simulated, situation.reach))


@dataclass(frozen=True, eq=False)
class BudgetAdvice:
    """What is known of a graph, and what each budget would buy there. ``told`` are nats of a volunteer's row, where there are any."""

    data: str
    metric: str
    numbers: PublicNumbers
    structure: float
    volunteers: int
    told: float | None
    lines: tuple[BudgetLine, ...]
    # The curve and what it is asked about: what the map is drawn from.
    model: GainModel = field(repr=False)
    ground: Ground = field(repr=False)
    learned_from: int = 0
    left_out: bool = False

    @property
    def most_volunteers(self) -> int:
        """The most that were looked at."""
        return self.ground.most_volunteers

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "data": self.data,
            "metric": self.metric,
            "public": asdict(self.numbers),
            "structure": self.structure,
            "panel": {"users": self.volunteers, "nats": self.told} if self.volunteers else None,
            "budgets": [line.to_dict() for line in self.lines],
            "others": None if self.ground.town else {"low": OTHERS[0], "high": OTHERS[1], "source": "stored"},
            "learned_from": self.learned_from,
            "left_out": self.left_out,
        }


def advise_budget(
    spec: Experiment,
    epsilons: Sequence[float],
    progress: Progress | None = None,
    given: tuple[Graph, Users] | None = None,
    gains: Sequence[MeasuredGain] | None = None,
) -> BudgetAdvice:
    """What veil would buy at each budget, from public numbers and, where there is a panel, from its rows; nobody is asked.

    The curve is fitted to ``gains`` (those that come with the package) on other graphs than this one.
    """
    if not epsilons:
        raise InputError("no budget is given: name one or more, such as --epsilon 1,2,4")
    ground, graph, structure, seen = _ground(spec, progress, given)
    known = measured_gains() if gains is None else gains
    others = [line for line in known if line.data != seen]
    if progress:
        progress("fitting gains of other graphs", 0.9)
    model = GainModel.fit("panel" if ground.panel else "private", others, town=ground.town)
    planned = model if ground.panel else GainModel.fit("planned", others, town=ground.town)
    lines = tuple(_line(ground, model, planned, epsilon) for epsilon in epsilons)
    return BudgetAdvice(
        spec.data,
        graph.metric,
        ground.numbers,
        structure,
        ground.panel,
        None if ground.told is None else ground.told.nats,
        lines,
        model,
        ground,
        len({line.graph for line in others}),
        len(others) < len(known),
    )


def _ground(
    spec: Experiment, progress: Progress | None, given: tuple[Graph, Users] | None
) -> tuple[Ground, Graph, float, str]:
    """What is public of the graph of a spec; its users are never asked."""
    spec.check()
    with learn.one_thread():
        ready = make_ready(spec, "method", 0, progress, given)
        job = replace(ready.job, users=Nobody())
        ready.method.prepare(job)
        if teacher_of(job) == "public":
            raise InputError(
                "advice knows nothing of weights from a file: leave teach=public and weights out"
            )
        posterior = structure_posterior(job, job.settings)
        numbers = PublicNumbers.of(job.graph, posterior)
        ground = Ground(numbers, unlabelled_rows(job.graph, posterior), job.graph.name.startswith(TOWN))
        panel = job.graph.panel
        if teacher_of(job) == "panel" and panel is not None:
            job.say("learning from volunteers", 0.5)
            known = Known.of(job, posterior)
            told = _told(job, known, posterior, panel)
            doubling = 0.0
            if len(panel) >= SPLIT_PANEL:
                doubling = max(told.nats - _told(job, known, posterior, _every_other(panel)).nats, 0.0)
            ground = replace(ground, told=told, doubling=doubling)
    return ground, job.graph, posterior.validation_score, job.graph.name


def _told(job: Job, known: Known, posterior: Posterior, panel: Panel) -> Told:
    """What rows of these volunteers tell."""
    graph = replace(job.graph, panel=panel)
    model = taught_by_panel(graph, known.targets, job.settings.about, job.seed)
    return told_by(graph, posterior, model)


def _every_other(panel: Panel) -> Panel:
    """Half of the volunteers."""
    places = np.arange(0, len(panel), 2)
    return Panel(panel.users[places].copy(), panel.rows[places])


def _line(ground: Ground, model: GainModel, planned: GainModel, epsilon: float) -> BudgetLine:
    here = ground.at(epsilon)
    predicted: Predicted = model.predict(here)
    base = ground.numbers.users
    more = np.geomspace(1.0, MOST_TIMES, STEPS)
    users = next(
        (
            round(base * times)
            for times in more.tolist()
            if model.predict(with_users(here, times)).gain >= WORTH
        ),
        None,
    )
    volunteers = next(
        (
            count
            for count in _counts(ground)
            if planned.predict(ground.with_volunteers(here, count)).gain >= WORTH
        ),
        None,
    )
    return BudgetLine(
        epsilon, predicted.gain, predicted.low, predicted.high, users, volunteers, may_surprise(here)
    )


def may_surprise(situation: Situation) -> bool:
    """Whether such a case has shown a gain that nothing foretold."""
    numbers = situation.numbers
    few = numbers.trained < FEW_LABELS * numbers.users
    return not situation.panel and few and situation.epsilon > SURPRISING


def with_users(situation: Situation, times: float) -> Situation:
    """So many times as many users, with as many labels each."""
    numbers = situation.numbers
    more = {name: round(getattr(numbers, name) * times) for name in ("users", "trained", "validated")}
    return replace(situation, numbers=replace(numbers, **more))


def _counts(ground: Ground) -> list[int]:
    """How many volunteers are looked at."""
    first, last = ground.panel or FEWEST, ground.most_volunteers
    return sorted({round(count) for count in np.geomspace(first, max(first, last), STEPS).tolist()})


# What the map shows: so many times as many users, and budgets.
TIMES = (0.1, 10.0)
BUDGETS = (0.5, 8.0)
# Numbers along each side of the map, and how many shades it has.
GRID, SHADES = 25, 10


def signed(value: float) -> str:
    """Points with their sign.

    >>> signed(1.25), signed(-0.01)
    ('+1.2', '0.0')
    """
    shown = f"{value:+.1f}"
    return "0.0" if float(shown) == 0 else shown


def head() -> tuple[str, ...]:
    """The columns of the table."""
    return (
        "ε",
        "veil gains",
        "interval",
        "best other",
        f"users for +{WORTH:g}",
        f"volunteers for +{WORTH:g}",
    )


def rows(advice: BudgetAdvice) -> tuple[tuple[str, ...], ...]:
    """The table: a line for each budget, in points over structure."""
    return tuple(
        (
            f"{line.epsilon:g}",
            signed(line.gain),
            f"{signed(line.low)} to {signed(line.high)}",
            "-" if advice.ground.town else f"≤ {OTHERS[1]:+g}",
            "-" if advice.volunteers else _needed(line.users_needed, f"> {MOST_TIMES:g} times"),
            _volunteers_needed(line.volunteers_needed, advice),
        )
        for line in advice.lines
    )


def _needed(count: int | None, beyond: str) -> str:
    return beyond if count is None else f"{count:,}"


def _volunteers_needed(count: int | None, advice: BudgetAdvice) -> str:
    """Fewer than those who are there are not looked at, so they are enough at the most."""
    enough = "≤ " if advice.volunteers and count == advice.volunteers else ""
    return enough + _needed(count, f"> {advice.most_volunteers:,}")


def verdict(advice: BudgetAdvice) -> str:
    """One sentence: each verdict with the budgets that it is said of."""
    said: dict[str, list[str]] = {}
    for line in advice.lines:
        said.setdefault(line.verdict, []).append(f"{line.epsilon:g}")
    parts = (f"at ε = {', '.join(budgets)} {verdict}" for verdict, budgets in said.items())
    return f"{advice.data}: {'; '.join(parts)}."


def sentences(advice: BudgetAdvice) -> tuple[str, ...]:
    """What the numbers are and what they rest on."""
    numbers = advice.numbers
    known = (
        f"{advice.data}: {numbers.users:,} users, {numbers.dims:,} features, {numbers.classes} classes, {numbers.trained:,} labels to learn from "
        f"and {numbers.validated:,} to validate. Structure, which asks nobody, reaches {100 * advice.structure:.1f} on validation users "
        f"({advice.metric}) and is sure by {100 * numbers.sure:.0f}% on average of a class that it does not know."
    )
    gave = (
        f"{counted(advice.volunteers, 'volunteer')} gave their raw rows: a row tells {rounded(advice.told)} nats of the class, by a model that "
        "others of them taught."
    )
    panel = (gave,) if advice.volunteers else ()
    rests = (
        f"Gains are points of {advice.metric} on test users. They are foretold from public numbers by a curve that was fitted to "
        f"{advice.learned_from} towns and graphs{', this one left out' if advice.left_out else ''}; intervals are those that held in nine "
        "of ten lines on graphs which the curve had not seen. Nobody was asked, and no row but a volunteer's was read."
    )
    return (known, *panel, rests, OTHERS_IN_TOWNS if advice.ground.town else OTHERS_SAID)


def budget_page(advice: BudgetAdvice) -> str:
    """The whole page."""
    told = tuple((*row, line.verdict) for row, line in zip(rows(advice), advice.lines, strict=True))
    table = Table((*head(), "verdict"), told, frozenset(head()))
    who = "volunteers" if advice.volunteers else "users like these, with as many labels each"
    map_says = (
        f"What veil would add to structure, in points, if there were more or fewer {who}. The line is +{WORTH:g} points; the marks are "
        f"{advice.data} at the budgets that were asked for."
    )
    sections = (
        Section("What a budget would buy", (map_says,), budget_map(advice), table),
        Section("What this rests on", sentences(advice)),
    )
    rows_too = " and volunteers' rows" if advice.volunteers else ""
    rests = f"Everything here follows from public numbers{rows_too}."
    return page(f"graphveil: advice on a budget for {advice.data}", verdict(advice), sections, rests)


def budget_map(advice: BudgetAdvice) -> str:
    """Users across, or volunteers where there are any, ε upwards, the gain as a shade: an SVG element."""
    ground = advice.ground
    users = advice.volunteers or advice.numbers.users

    def gain(here: Situation, more: float) -> float:
        count = max(round(more * ground.panel), 1)
        there = ground.with_volunteers(here, count) if ground.panel else with_users(here, more)
        return advice.model.predict(there).gain

    times = np.geomspace(*TIMES, GRID)
    budgets = np.geomspace(
        min(BUDGETS[0], *(line.epsilon for line in advice.lines)),
        max(BUDGETS[1], *(line.epsilon for line in advice.lines)),
        GRID,
    )
    gains = np.array(
        [[gain(here, each) for each in times.tolist()] for here in map(ground.at, budgets.tolist())]
    )
    drawing = Drawing((WIDTH, HEIGHT + 0.3))
    axes = drawing.axes[0]
    step = max(math.ceil(float(gains.max()) / SHADES), 1)
    levels = np.arange(0, SHADES * step + 1, step)
    # One colour, more of it where there is more to gain: so the map follows the mode of the page.
    ramp = [(METHOD.day, share) for share in np.linspace(0.04, 0.85, SHADES).tolist()]
    shades = axes.contourf(users * times, budgets, gains, levels=levels, colors=ramp)
    if gains.min() < WORTH < gains.max():
        axes.contour(users * times, budgets, gains, levels=[WORTH], colors=INK.day, linewidths=1.5)
    for line in advice.lines:
        axes.plot([users], [line.epsilon], "o", color=INK.day, markersize=7, clip_on=False)
        axes.annotate(
            signed(line.gain),
            (users, line.epsilon),
            # At the upper edge it stands below its mark: above is the title.
            (8, -16 if line.epsilon == budgets[-1] else 5),
            textcoords="offset points",
            fontsize=TEXT_SIZE,
        )
    axes.set_xscale("log")
    axes.set_yscale("log", base=2)
    ticks = [users * each for each in (0.1, 0.3, 1, 3, 10)]
    axes.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
    axes.set_yticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    axes.minorticks_off()
    axes.set_xlabel("volunteers" if advice.volunteers else "users")
    axes.set_ylabel("privacy budget ε")
    axes.set_title(f"{advice.data}: points over structure", fontsize=TITLE_SIZE)
    drawing.scale(shades, "points over structure")
    return drawing.svg()
