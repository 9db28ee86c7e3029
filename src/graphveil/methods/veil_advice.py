"""A forecast of veil's gain over structure on a graph, from public numbers and volunteers' rows.

Gains are predicted by curves that were fitted to measured gains on other graphs. The package has the fitted
numbers alone, in gain_models.json; the runs that they were fitted to and the fit are in reproduce/advice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from graphveil import learn
from graphveil.errors import InputError
from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.graphs.panel import Panel
from graphveil.methods.job import Job
from graphveil.methods.structure import Posterior, structure_posterior
from graphveil.methods.veil import PublicKnowledge, teacher_of, usually_open
from graphveil.methods.veil_model import PublicModel, model_from_panel

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
# Who teaches: a part of the users, a panel whose rows are there, a panel of which only the size is known.
Kind = Literal["private", "panel", "planned"]
KINDS: tuple[Kind, ...] = ("private", "panel", "planned")
# What names of generated graphs begin with.
TOWN = "town"
# Written by `python -m reproduce.advice.fit`.
FILE = "gain_models.json"
# An error of this many points, this share of the gain and this share of what is within reach is one unit of what intervals are made of.
UNIT, UNIT_SHARE, UNIT_REACH = 0.5, 0.5, 0.05
# Volunteers' rows that tell less than this many nats count as this.
LEAST_NATS = 0.01
# Veil falls back to structure: an interval that comes as near to no gain as this includes it.
NEAR = 1.0
# The variance of a report of a unit row by privunit, times its numbers, at some budgets; in between it is taken as a power of ε.
NOISE_BUDGETS, REPORT_NOISE = (0.5, 1.0, 2.0, 4.0, 8.0), (25.2, 6.33, 1.62, 0.435, 0.133)
# Labelled pairs that count beforehand for as many as agree by chance.
STRENGTH = 10.0
# So many users are drawn at least where answers are simulated, and probabilities below this count as this there.
DRAWS, SMALLEST = 20_000, 1e-6
# The fewest volunteers that teach a model from which the next doubling is foretold.
SPLIT_PANEL = 40


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
        rows = posterior.rows[~graph.train]
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

    def with_users(self, times: float) -> Situation:
        """Return the same with so many times as many users, with as many labels each."""
        more = {
            name: round(getattr(self.numbers, name) * times) for name in ("users", "trained", "validated")
        }
        return replace(self, numbers=replace(self.numbers, **more))


@dataclass(frozen=True)
class PredictedGain:
    """A gain in points, with an interval that held in nine of ten lines on graphs which the curve had not seen."""

    gain: float
    low: float
    high: float


@dataclass(frozen=True)
class GainModel:
    """Gains are a share of what there is to gain; the share is a logistic curve of public numbers.

    The curve is for generated graphs (``town``) or for real ones. It was fitted to so many ``graphs``, all but the one that is named in
    ``without``. ``low_error`` and ``high_error`` are quantiles of its errors on graphs that were left out of the fit, in units that
    grow with the gain.
    """

    kind: Kind
    town: bool
    without: str | None
    graphs: int
    weights: tuple[float, ...]
    centre: tuple[float, ...]
    width: tuple[float, ...]
    low_error: float
    high_error: float

    def predict(self, situation: Situation) -> PredictedGain:
        """Return the gain that is expected, and its interval."""
        point = (features(situation, self.kind) - np.array(self.centre)) / np.array(self.width)
        most = np.array([most_to_gain(situation, self.kind)])
        gain = float(gain_curve(np.array(self.weights), point[None, :], most)[0])
        unit = error_unit(situation, self.kind, gain)
        low, high = gain + unit * self.low_error, gain + unit * self.high_error
        low = min(low, 0.0) if low < NEAR else low
        return PredictedGain(gain, min(low, gain), max(min(high, _lacking(situation)), gain))


@cache
def gain_models() -> tuple[GainModel, ...]:
    """Return all curves that come with the package."""
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    return TypeAdapter(tuple[GainModel, ...]).validate_json(text)


def find_gain_model(kind: Kind, data: str) -> GainModel:
    """Return the curve for a graph, itself left out of the fit where it was measured."""
    town = data.startswith(TOWN)
    models = {each.without: each for each in gain_models() if (each.kind, each.town) == (kind, town)}
    return models.get(data, models[None])


def features(situation: Situation, kind: Kind) -> Floats:
    """Return the numbers that decide; all but the last, whether the graph is a town, may only raise a gain."""
    known = {
        "private": [teaching_signal(situation)],
        "panel": [math.log(max(situation.simulated, 1e-3)), math.log(max(situation.nats, LEAST_NATS))],
        "planned": [math.log(max(situation.panel, 1))],
    }
    return np.array([*known[kind], float(situation.town)])


def teaching_signal(situation: Situation) -> float:
    """Return the logarithm of √(n/2C)/σ(ε): how far class means of n private reports stand out of their noise, but for what features tell.

    >>> numbers = PublicNumbers(1000, 64, 2, 500, 250, 8.0, 0.8, 0.7, 0.4, 0.3)
    >>> round(math.exp(2 * teaching_signal(Situation(numbers, 1.0, 0.1))), 2)
    19.75
    """
    numbers = situation.numbers
    teachers = max(numbers.trained, numbers.users / 2)
    noise = np.interp(math.log(situation.epsilon), np.log(NOISE_BUDGETS), np.log(REPORT_NOISE))
    return 0.5 * (math.log(teachers / (2 * numbers.classes)) - float(noise))


def most_to_gain(situation: Situation, kind: Kind) -> float:
    """Return what gains are a share of, in points: all that structure lacks; without volunteers' rows its geometric mean with what own
    answers could add at this budget. Neighbours' answers lift gains above the latter."""
    if kind == "panel":
        return _lacking(situation)
    return math.sqrt(_lacking(situation) * 100 * max(situation.reach, 1e-4))


def error_unit(situation: Situation, kind: Kind, gain: float) -> float:
    """Return what an error is counted in, in points: more where more is foretold, and where more is within reach.

    Parameters
    ----------
    situation
        The graph and the budget.
    kind
        Who teaches.
    gain
        The gain that is foretold.
    """
    reach = situation.simulated if kind == "panel" else situation.reach
    return UNIT + UNIT_SHARE * gain + UNIT_REACH * 100 * reach


def gain_curve(weights: Floats, points: Floats, most: Floats) -> Floats:
    """Return gains by a logistic curve.

    Parameters
    ----------
    weights
        The weights of the curve, the first of them its constant.
    points
        The numbers of each situation: (situations, weights - 1).
    most
        The largest gain of each situation.
    """
    share: Floats = most / (1 + np.exp(-np.clip(points @ weights[1:] + weights[0], -30, 30)))
    return share


def _lacking(situation: Situation) -> float:
    """Return all that structure lacks, in points."""
    return 100 * max(situation.numbers.left, 0.001)


@dataclass(frozen=True, eq=False)
class PublicView:
    """A graph as its server sees it: its numbers, how sure graph and labels are of those without a label, and what volunteers tell.

    ``structure`` is what structure reaches on validation users, ``doubling`` what twice as many volunteers would add to the nats of
    their rows.
    """

    data: str
    numbers: PublicNumbers
    structure: float
    rows: NDArray[np.float64]
    volunteers: VolunteerRows | None = None
    doubling: float = 0.0

    @classmethod
    def of(cls, job: Job) -> PublicView:
        """Return what is public of the graph of a veil job, whose users are not asked."""
        if teacher_of(job) == "public":
            raise InputError("advice cannot use weights from a file: leave teach=public and weights out")
        posterior = structure_posterior(job, job.settings)
        numbers = PublicNumbers.of(job.graph, posterior)
        rows = posterior.rows[~job.graph.train]
        view = cls(job.graph.name, numbers, posterior.validation_score, rows)
        panel = job.graph.panel
        if teacher_of(job) != "panel" or panel is None:
            return view
        job.say("learning from volunteers", 0.5)
        known = PublicKnowledge.of(job, posterior)
        volunteers = _volunteers(job, known, posterior, panel)
        doubling = 0.0
        if len(panel) >= SPLIT_PANEL:
            half = _volunteers(job, known, posterior, Panel(panel.users[::2].copy(), panel.rows[::2]))
            doubling = max(volunteers.nats - half.nats, 0.0)
        return replace(view, volunteers=volunteers, doubling=doubling)

    @property
    def town(self) -> bool:
        """Whether the graph is generated."""
        return self.data.startswith(TOWN)

    @property
    def panel(self) -> int:
        """The number of volunteers."""
        return 0 if self.volunteers is None else len(self.volunteers.scores)

    def at(self, epsilon: float) -> Situation:
        """Return the graph and a budget."""
        here = Situation(self.numbers, epsilon, within_reach(self.rows, epsilon), town=self.town)
        if self.volunteers is None:
            return here
        simulated = simulated_gain(self.rows, self.volunteers, epsilon)
        return replace(here, panel=self.panel, nats=self.volunteers.nats, simulated=simulated)

    def with_volunteers(self, situation: Situation, count: int) -> Situation:
        """Return the same with so many volunteers. What their rows would tell is foretold from those who are there; what answers add grows alike."""
        if self.volunteers is None:
            return replace(situation, panel=count)
        most = math.log(self.numbers.classes)
        nats = min(max(self.volunteers.nats + self.doubling * math.log2(count / self.panel), 0.0), most)
        simulated = situation.simulated * nats / max(self.volunteers.nats, LEAST_NATS)
        return replace(situation, panel=count, nats=nats, simulated=min(simulated, situation.reach))


def _volunteers(job: Job, known: PublicKnowledge, posterior: Posterior, panel: Panel) -> VolunteerRows:
    """Return what rows of these volunteers tell."""
    graph = replace(job.graph, panel=panel)
    model = model_from_panel(graph, known.targets, job.settings.about, job.seed)
    return volunteer_rows(graph, posterior, model)


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
    """Return the accuracy that each user's own answer could add if every row told its class; no neighbours.

    An answer r of a list of K classes has the chance P(r | c) by k-ary response; the best guess is right with
    Σ_r max_c q_c·P(r | c).

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


@dataclass(frozen=True, eq=False)
class VolunteerRows:
    """The information in volunteers' rows.

    Parameters
    ----------
    scores
        Scores of each volunteer's row, by a model that the others taught.
    classes
        The volunteers' classes.
    nats
        The mean information of a row, in nats.
    """

    scores: Floats
    classes: Whole
    nats: float


def volunteer_rows(graph: Graph, posterior: Posterior, model: PublicModel) -> VolunteerRows:
    """Return what the volunteers' rows tell; nothing of their own class if the model is about neighbours.

    Parameters
    ----------
    graph
        The graph, with its volunteers.
    posterior
        What graph and labels say.
    model
        The model that volunteers have taught.
    """
    assert graph.panel is not None
    users = graph.panel.users
    scores = np.zeros((len(users), graph.class_count)) if model.own is None else model.own
    known = graph.labels[users]
    classes = np.where(known == UNKNOWN, posterior.rows[users].argmax(axis=1), known)
    return VolunteerRows(scores, classes.astype(np.int64), max(model.gain or 0.0, 0.0))


def simulated_gain(rows: Floats, volunteers: VolunteerRows, epsilon: float, seed: int = 0) -> float:
    """Return the accuracy that users' own answers add in a simulation, 0..1; neighbours are left out.

    Lists, channel and decoding are veil's; the users of one half are decoded by tables of the other.

    Parameters
    ----------
    rows
        What graph and labels say, (users, classes): everybody's class is drawn from it.
    volunteers
        The scores of a volunteer of the drawn class stand for the scores of a user's own row.
    """
    random = np.random.default_rng(seed)
    prior = np.maximum(np.tile(rows, (max(1, math.ceil(DRAWS / len(rows))), 1)), SMALLEST)
    prior /= prior.sum(axis=1, keepdims=True)
    count, kinds = prior.shape
    truth = np.minimum((prior.cumsum(axis=1) < random.random((count, 1))).sum(axis=1), kinds - 1)
    scores = _drawn_scores(volunteers, truth, kinds, random)
    width, add = usually_open(epsilon, kinds)
    lists = np.argsort(-prior, axis=1, kind="stable")[:, :width]
    own = np.take_along_axis(scores + (np.log(prior) if add else 0.0), lists, axis=1)
    places = _k_ary(own.argmax(axis=1), width, epsilon, random)
    least = 1 / (math.exp(epsilon) + width - 1)
    everybody = np.arange(count)
    likely = np.zeros((count, kinds))
    likely[everybody, truth] = 1.0
    asked = learn.ClassAnswers(everybody, lists, places, prior.max(axis=1), least)
    folds = random.permutation(count) % 2
    by_fold, _ = learn.class_evidence(asked, learn.JudgedAnswers(everybody, likely, folds), kinds)
    after = np.log(prior) + by_fold[folds, everybody]
    return float((after.argmax(axis=1) == truth).mean() - (prior.argmax(axis=1) == truth).mean())


def _drawn_scores(volunteers: VolunteerRows, truth: Whole, kinds: int, random: np.random.Generator) -> Floats:
    """Scores of volunteers of each drawn class; where nobody volunteers of a class, a row of it tells nothing."""
    scores = np.zeros((len(truth), kinds))
    for kind in range(kinds):
        pool = volunteers.scores[volunteers.classes == kind]
        chosen = np.flatnonzero(truth == kind)
        if len(pool):
            scores[chosen] = pool[random.integers(0, len(pool), len(chosen))]
    return scores


def _k_ary(places: Whole, width: int, epsilon: float, random: np.random.Generator) -> Whole:
    """Draw k-ary responses to places: the same place with the chance of the truth, else one of the others."""
    kept = random.random(len(places)) < math.exp(epsilon) / (math.exp(epsilon) + width - 1)
    others = (places + random.integers(1, width, len(places))) % width
    return np.where(kept, places, others)
