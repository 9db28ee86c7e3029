"""Users: their private data, simulated users, who answer plans and nothing else, and the levels and volunteers of a simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.sampling import RandomBits, SeededBits, SystemBits
from graphveil.checks import check_array
from graphveil.errors import InputError, PrivacyError
from graphveil.files import read_array, read_text
from graphveil.graphs.graph import Graph, shared_links
from graphveil.graphs.links import LinkPairs, Pairs
from graphveil.graphs.metrics import ClassScore, area_under_curve, class_scores, confusion_counts, measure
from graphveil.graphs.splits import check_seed
from graphveil.mechanisms import NeighbourLists, PersonalRows, Reports, entry, names
from graphveil.mechanisms.personal import PersonalMechanism
from graphveil.mechanisms.rows import row_norms
from graphveil.plugins import unknown_name
from graphveil.privacy import Ledger, Plan, answer

# Who is silent more often than others: nobody, users with many links, or users of the later classes.
SILENCES = ("random", "degree", "class")


def draw_answering(
    users: int, participation: float, seed: int, by: NDArray[Any] | None = None
) -> NDArray[np.bool_]:
    """Draw which users answer: (users,) bool.

    Parameters
    ----------
    users
        The number of users.
    participation
        The mean chance P of answering.
    seed
        The seed of the draw.
    by
        A number for each user: the chance falls along the users in the order of these numbers, from P + δ to
        P - δ, δ = min(P, 1 - P). Users with the same number have the same chance. Without it all users have
        the chance P.

    >>> draw_answering(4, 1.0, 0).tolist()
    [True, True, True, True]
    """
    random = np.random.default_rng([check_seed(seed), 7])
    drawn = random.random(users)
    if by is None:
        return drawn < participation
    spread = min(participation, 1 - participation)
    # Where each number stands among all, from 0 to 1; equal ones share the middle of their places.
    _, group, counts = np.unique(by, return_inverse=True, return_counts=True)
    ranks = np.asarray((np.cumsum(counts) - counts / 2)[group] / max(len(by), 1))
    return drawn < participation + spread * (1 - 2 * ranks)


class Holder(Protocol):
    """An object that knows what users hold."""

    def asked(self, plan: Plan) -> Any:
        """Return what a plan asks for, of those that it asks, in its order."""


class SimulatedUsers:
    """Users who answer plans, and offer nothing else: what they hold, their books and their words are out of reach.

    They select the rows that a plan asks for and call `answer`, as a device does. They cannot be copied, because a copy would
    have books of its own. With ``answering``, a truth a user, the others are silent: they are asked and charged, and their
    reports never arrive. With ``curator`` they stand for a curator too, who was trusted with everybody's data: whoever runs the
    simulation says so, and never a plan.
    """

    __slots__ = ("_answering", "_holder", "_known", "_ledger", "_lock", "_options", "_words")

    def __init__(
        self,
        holder: Holder,
        ledger: Ledger,
        random_bits: RandomBits,
        *,
        blind: bool = False,
        unsound: bool = False,
        answering: NDArray[np.bool_] | None = None,
        curator: bool = False,
    ) -> None:
        self._holder, self._ledger, self._words, self._answering = holder, ledger, random_bits, answering
        self._options = {"blind": blind, "unsound": unsound, "curator": curator}
        # Mechanisms that were there before anybody could ask: one that is registered later is not answered.
        self._known = frozenset(entry(name) for name in names())
        # One after the other: two threads that share words might draw the same ones.
        self._lock = Lock()

    def report(self, plan: Plan) -> Reports:
        """Answer a plan: charge it, then randomize. Where users choose a level, each is charged that level's budget."""
        try:
            return self._answer(Plan.checked(plan))
        except Exception as error:  # noqa: BLE001
            # The frames between here and there hold what users hold: they stay here.
            raise error.with_traceback(None) from None

    def _answer(self, plan: Plan) -> Reports:
        if entry(plan.mechanism) not in self._known:
            raise PrivacyError(f"register {plan.mechanism} first, before users declare their budget")
        with self._lock:
            asked = self._holder.asked(plan)
            reports = answer(plan, asked, self._ledger, self._words, **self._options)
        if self._answering is None:
            return reports
        return reports.answered_by(self._answering[self._ledger.asked(plan)])

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PrivacyError("users who answer cannot be copied: a copy would have books of its own")

    def __repr__(self) -> str:
        return "SimulatedUsers()"


Neighbours = tuple[NDArray[np.int64], NDArray[np.int32]]


@dataclass(frozen=True, eq=False, repr=False)
class Private:
    """The users' data in the clear: for the code that runs experiments, which hands it on by name or not at all.

    ``neighbours`` are the users' own lists, as row pointers and neighbours.
    """

    features: Any
    labels: NDArray[np.int64]
    neighbours: Neighbours | None = None
    levels: NDArray[np.int64] | None = None
    test_links: LinkPairs | None = None

    def rows(self) -> Any:
        """The raw features, which must be there."""
        if self.features is None:
            raise InputError(_MISSING["features"])
        return self.features

    def asked(self, plan: Plan) -> Any:
        """Return what a plan asks for, of those that it asks, in its order; refused where nobody has it."""
        if plan.subject == "links":
            return self._lists(plan)
        if plan.subject == "label" and self.labels.ndim == 2:
            raise InputError("users have several labels each, a plan asks for one: choose it with label=")
        held = {"features": self.features, "label": self.labels, "level": self.levels}.get(plan.subject)
        if held is None:
            unknown = f"these users answer no question about {plan.subject}"
            raise InputError(_MISSING.get(plan.subject, unknown))
        if not isinstance(plan.build(), PersonalMechanism):
            return self._of(plan, held)
        if self.levels is None:
            raise InputError(_MISSING["level"])
        return PersonalRows(self._of(plan, self.levels), self._of(plan, held))

    def _lists(self, plan: Plan) -> NeighbourLists:
        """The lists of those that a plan asks, each with the number of its user."""
        count = len(self.labels)
        if self.neighbours is None:
            raise InputError(_MISSING["links"])
        if plan.dims != count:
            raise InputError(f"a plan for links must say how many users there are, {count}, got {plan.dims}")
        lists = NeighbourLists(np.arange(count), *self.neighbours)
        return lists if plan.users == "all" else lists.of(self._chosen(plan))

    def _of(self, plan: Plan, held: Any) -> Any:
        return held if plan.users == "all" else held[self._chosen(plan)]

    def _chosen(self, plan: Plan) -> NDArray[np.int64]:
        chosen, count = np.array(plan.users, dtype=np.int64), len(self.labels)
        if chosen.size and int(chosen.max()) >= count:
            raise InputError(f"users must lie in 0..{count - 1}, the plan asks user {int(chosen.max())}")
        return chosen


class Users:
    """The private side of a dataset, held by the code that runs an experiment: features, labels, levels, neighbour lists.

    A method never gets this object. It gets what `declare` returns, or a collection of devices. ``raw`` is everything in the
    clear, for what claims no privacy and for attacks that are measured; code that passes it on says so by that name.
    """

    def __init__(
        self,
        features: Any,
        labels: NDArray[np.int64],
        *,
        neighbours: Neighbours | None = None,
        levels: Any = None,
        test_links: LinkPairs | None = None,
    ) -> None:
        if features is not None and features.shape[0] != len(labels):
            raise InputError(f"features must have one row a user ({len(labels)}), got {features.shape[0]}")
        chosen = None if levels is None else _checked_levels(levels, len(labels))
        self.raw = Private(features, labels, neighbours, chosen, test_links)

    def __len__(self) -> int:
        return len(self.raw.labels)

    def declare(
        self,
        epsilon: Any = 0.0,
        delta: Any = 0.0,
        *,
        by_level: Sequence[float] | None = None,
        seed: int | None = None,
        blind: bool = False,
    ) -> SimulatedUsers:
        """Return these users with a fresh ledger and this budget: those whom a method asks.

        Parameters
        ----------
        epsilon, delta
            The budget: one for all, or one a user.
        by_level
            The public budgets of the levels: each user also has that of their level.
        seed
            Makes answers repeatable, as a simulation needs them; without it users draw from the operating
            system.
        blind
            Whether users are the control: see `answering`.
        """
        return self.answering(self.open_ledger(epsilon, delta, by_level=by_level), seed=seed, blind=blind)

    def open_ledger(
        self, epsilon: Any = 0.0, delta: Any = 0.0, *, by_level: Sequence[float] | None = None
    ) -> Ledger:
        """Open a fresh ledger with this budget, for code that watches what is spent.

        Parameters
        ----------
        epsilon, delta
            The budget: one for all, or one a user.
        by_level
            The public budgets of the levels: each user also has that of their level.
        """
        if by_level is not None and self.raw.levels is None:
            raise InputError(_MISSING["level"])
        levels = None if by_level is None else self.raw.levels
        return Ledger(len(self), epsilon, delta, by_level=by_level, levels=levels)

    def answering(
        self,
        ledger: Ledger,
        *,
        seed: int | None = None,
        blind: bool = False,
        unsound: bool = False,
        who: NDArray[np.bool_] | None = None,
        curator: bool = False,
    ) -> SimulatedUsers:
        """Return these users, who answer on that ledger.

        Parameters
        ----------
        ledger
            The ledger that answers are charged to.
        seed
            Makes answers repeatable; without it users draw from the operating system.
        blind
            Whether users are the control: they answer every question about features with a blinded channel,
            and everything else as usual.
        unsound
            Lets a simulation, which has a seed, study mechanisms that do not keep their claim.
        who
            (users,) bool: those who answer, where not everybody does: see `turnout`.
        curator
            Whether somebody was trusted with everybody's data: without it a curator's mechanism is refused.
        """
        if who is not None:
            check_array(who, "who", f"{len(self)} truths, one a user", "b", (len(self),))
        if ledger.users != len(self):
            raise InputError(f"the ledger has {ledger.users} users, these are {len(self)}")
        random_bits = SystemBits() if seed is None else SeededBits(seed)
        return SimulatedUsers(
            self.raw, ledger, random_bits, blind=blind, unsound=unsound, answering=who, curator=curator
        )

    def turnout(self, participation: float, seed: int, silence: str = "random") -> NDArray[np.bool_]:
        """Draw which users answer when a share of them does, for a simulation: (users,) bool.

        Parameters
        ----------
        participation
            The share of users who answer on average.
        seed
            The seed of the draw: see `draw_answering`.
        silence
            "random"; with "degree" users with more links answer less often, with "class" those of the later
            classes.
        """
        raw, by = self.raw, None
        if silence not in SILENCES:
            raise unknown_name("silence", silence, SILENCES)
        if silence == "degree":
            if raw.neighbours is None:
                raise InputError(_MISSING["links"])
            by = np.diff(raw.neighbours[0])
        if silence == "class":
            if raw.labels.ndim == 2:
                raise InputError("users have several labels each, not classes: take silence random or degree")
            by = raw.labels
        return draw_answering(len(self), participation, seed, by)

    def turnout_bias(self, who: NDArray[np.bool_]) -> dict[str, float]:
        """Return how far those who answer differ from all users, measured in a simulation: no server knows it.

        ``class_bias`` is the share of them that would have to be of another class for their classes to be as common as
        everybody's (total variation), left out where users have several labels each; ``degree_bias`` how many more links they
        have than everybody, as a share.
        """
        labels, answering = self.raw.labels, self.raw.labels[who]
        bias: dict[str, float] = {}
        if labels.ndim == 1:
            classes = int(labels.max(initial=0)) + 1
            theirs, all_shares = (
                np.bincount(each, minlength=classes) / max(len(each), 1) for each in (answering, labels)
            )
            bias["class_bias"] = float(np.abs(theirs - all_shares).sum() / 2)
        if self.raw.neighbours is not None:
            degrees = np.diff(self.raw.neighbours[0])
            mean = float(degrees.mean()) or 1.0
            bias["degree_bias"] = float(degrees[who].mean()) / mean - 1 if who.any() else 0.0
        return bias

    def with_levels(self, levels: Any) -> Users:
        """The same users, each with the privacy level that they chose (1, 2, …)."""
        return Users(**{**vars(self.raw), "levels": levels})

    def with_test_links(self, test: LinkPairs, neighbours: Neighbours) -> Users:
        """The same users where links are to be predicted: they hold the test pairs, and list the training links alone."""
        return Users(**{**vars(self.raw), "neighbours": neighbours, "test_links": test})

    @property
    def have_levels(self) -> bool:
        """Whether users have chosen privacy levels; the levels themselves stay private."""
        return self.raw.levels is not None

    def evaluate(self, outcome: Any, graph: Graph) -> float:
        """Return a server's score on the test users, by the graph's metric; their labels never leave this side.

        ``outcome`` holds a row of scores or a predicted class for every user (see `measure`). A method must not choose anything by this
        number, and cannot: it never sees this object.
        """
        self._check_together(graph)
        return measure(graph.metric, outcome, self.raw.labels, graph.test, graph.class_count)

    def confusion(self, predicted: NDArray[np.int64], graph: Graph) -> NDArray[np.int64]:
        """Count the test users of each class (rows) that were predicted each class (columns): only counts."""
        self._check_predicted(predicted, graph)
        if graph.multilabel:
            raise InputError("users have several labels each, no class is taken for another: see per_class")
        return confusion_counts(predicted, self.raw.labels, graph.test, graph.class_count)

    def per_class(self, predicted: NDArray[np.int64], graph: Graph) -> tuple[ClassScore, ...]:
        """Return the counts of each class, or of each of several labels, among test users."""
        self._check_predicted(predicted, graph)
        return class_scores(predicted, self.raw.labels, graph.test, graph.class_count)

    def _check_predicted(self, predicted: NDArray[np.int64], graph: Graph) -> None:
        self._check_tested(graph)
        shape = self.raw.labels.shape
        check_array(predicted, "predictions", f"integers of shape {shape}", "iu", shape)
        if predicted.size and not 0 <= int(predicted.min()) <= int(predicted.max()) < graph.class_count:
            raise InputError(f"predicted classes must lie in 0..{graph.class_count - 1}")

    def evaluate_links(self, score: Callable[[Pairs], NDArray[Any]], graph: Graph) -> float:
        """Return the area under the ROC curve of a server that tells test links from pairs that are not linked.

        ``score`` gives a number for each of the pairs it is asked for, the higher the likelier linked; their order tells
        nothing. A graph whose edges hold a test link is refused: what was learned from it knows the answer.
        """
        self._check_together(graph)
        test = self.raw.test_links
        if test is None:
            raise InputError("these users hold no test links: see hold_out_links(graph, users, seed)")
        leaked = shared_links(graph, test.linked)
        if leaked:
            raise PrivacyError(f"the graph has {leaked} test links: learn from the training links alone")
        pairs = np.concatenate([test.linked, test.unlinked])
        # In the order of the users' numbers, which says nothing about who is linked.
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        linked = order < len(test.linked)
        return area_under_curve(score(pairs[order]), linked)

    def evaluate_norms(self, predicted: Any, graph: Graph) -> float:
        """Return the mean absolute error of predicted norms of feature rows, over the test users.

        ``predicted`` holds a number for every user. As with `evaluate`, nothing of a test user leaves this side.
        """
        self._check_tested(graph)
        features = self.raw.rows()
        array = check_array(predicted, "norms", f"{len(self)} numbers, one a user", "iuf", (len(self),))
        if not np.isfinite(array).all():
            raise InputError("norms must be finite, got NaN or infinity: the model has diverged")
        test = np.flatnonzero(graph.test)
        return float(np.abs(array[test] - row_norms(features[test])[:, 0]).mean())

    def _check_tested(self, graph: Graph) -> None:
        self._check_together(graph)
        if not graph.test.any():
            raise InputError("the test split is empty: there is nobody to evaluate on")

    def _check_together(self, graph: Graph) -> None:
        if len(self) != graph.node_count:
            raise InputError(f"the graph has {graph.node_count} users, not {len(self)}: load both together")

    def __repr__(self) -> str:
        return f"Users({len(self)})"


_MISSING = {
    "features": "these users hold no features: the graph came without any, so only structure and labels can be used",
    "links": "these users hold no lists of neighbours: load them together with a graph",
    "level": "these users have chosen no privacy levels: give them with users.with_levels(levels)",
}


def _checked_levels(levels: Any, users: int) -> NDArray[np.int64]:
    expected = f"{users} integers of at least 1, one a user"
    array = check_array(levels, "levels", expected, "iu", (users,)).astype(np.int64)
    if users and int(array.min()) < 1:
        raise InputError(f"levels must be {expected}")
    array.setflags(write=False)
    return array


Levels = NDArray[np.int64]
DISTRIBUTIONS = ("uniform", "strict", "relaxed", "bimodal")
NAMED = "name a file of levels, one integer a user"
SUFFIXES = (".npy", ".csv", ".txt")


def draw_levels(users: int, levels: int, distribution: str = "uniform", seed: int = 0) -> Levels:
    """Draw a privacy level 1..f for each user.

    Parameters
    ----------
    users
        The number of users.
    levels
        The number of levels f.
    distribution
        uniform, strict (all 1), relaxed (all f), or bimodal (half 1, half f), as PPGNN has them.
    seed
        The seed of the draw.

    >>> draw_levels(4, 3, "relaxed").tolist()
    [3, 3, 3, 3]
    """
    if distribution not in DISTRIBUTIONS:
        choices = f"{', '.join(DISTRIBUTIONS)}, or give a file of levels ({', '.join(SUFFIXES)})"
        raise InputError(f"no distribution of levels is named {distribution!r}: choose one of {choices}")
    random = np.random.default_rng([check_seed(seed), 5])
    if distribution == "uniform":
        return random.integers(1, levels + 1, users)
    if distribution == "bimodal":
        return np.where(random.permutation(users) < users // 2, 1, levels)
    return np.full(users, 1 if distribution == "strict" else levels, dtype=np.int64)


def expected_shares(levels: int, distribution: str = "uniform") -> NDArray[np.float64]:
    """Return the share of users that a distribution gives each level, known before anybody has chosen.

    >>> expected_shares(4, "bimodal").tolist()
    [0.5, 0.0, 0.0, 0.5]
    """
    draw_levels(0, levels, distribution)
    chosen = {"strict": [0], "relaxed": [-1], "bimodal": [0, -1]}.get(distribution, slice(None))
    shares = np.zeros(levels)
    shares[chosen] = 1 / levels if distribution == "uniform" else 1
    return np.asarray(shares / shares.sum())


def read_levels(file: str | Path, users: int) -> Levels:
    """Levels from a file: an .npy array, or text with one integer a line (or between commas), in the order of users."""
    path = Path(file)
    if path.suffix not in SUFFIXES:
        raise InputError(f"levels are read from files that end in {', '.join(SUFFIXES)}, got {path.name!r}")
    array = read_array(path, "a list of levels", NAMED) if path.suffix == ".npy" else _numbers(path)
    expected = f"{users} integers, one level a user"
    return check_array(array, f"levels of {path}", expected, "iu", (users,)).astype(np.int64)


def level_source(name: str) -> str | Path:
    """A distribution by name, or the path of a file of levels."""
    return Path(name) if Path(name).suffix in SUFFIXES else name


def _numbers(path: Path) -> Levels:
    words = read_text(path, NAMED).replace(",", " ").split()
    try:
        return np.array([int(word) for word in words], dtype=np.int64)
    except (ValueError, OverflowError):
        raise InputError(f"{path} holds something other than integers: give one level a user") from None
