"""HeteroRR's Fig. 11: how far random walks on a published graph are from those on the true one.

The document compares mechanisms with each other alone. Here stand beside them what no links, links at random, and walks that may be
anywhere come to: none of these knows more of the graph than its size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphveil import denoise
from graphveil.errors import InputError
from graphveil.experiments.figure import Chart, ChartPanel, Role, Series
from graphveil.experiments.papers import FigureInput
from graphveil.experiments.study import QUICK_STEPS, WALKS
from graphveil.graphs import Graph, Users, load
from graphveil.graphs.links import divide_edges
from graphveil.mechanisms import LinkMechanism, entry, names
from graphveil.privacy import Plan
from graphveil.statistics import Summary, t_interval
from reproduce.figures import spans
from reproduce.figures.walks import walk_distances

NEEDS_GRAPH = True
RUNS, HOPS = 5, 4
# The document's budget over ρ, and some of its ρ over the budget.
EPSILON, SHARES_OVER_EPSILON = 1.0, (0.05, 0.2, 1.0)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
QUICK_SHARES, QUICK_EPSILONS = (0.05, 0.2, 1.0), (1.0, 8.0)
# What the document leaves open of EDGERR: τ₁ and τ_e, taken together, and the part of the budget that the dendrogram gets.
OPEN = "edgerr"
TAUS, QUICK_TAUS = (0.0001, 0.001, 0.01, 0.1, 1.0), (0.0001, 0.01)
TREE_SHARES, QUICK_TREE_SHARES = (0.0, 0.25, 0.5, 0.75), (0.0, 0.5)
# What multiplying all n rows by a published graph may take in steps, n for each entry: beyond, it takes minutes a run.
MOST_STEPS = 50_000_000_000
Y_LABEL = "RMS distance"

Pairs = NDArray[np.integer[Any]]
# A row a run, a column a hop.
Distances = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """A mechanism of links as a line; ``partly`` says that it protects only some of the links, a share ρ of them."""

    label: str
    mechanism: str
    partly: bool = False
    corrected: bool = True
    note: str = ""
    role: Role = "line"


LINES = (
    Line("EDGERR", "edgerr", partly=True),
    Line("privHRG", "privhrg"),
    Line("LapGraph", "lapgraph"),
    Line("EdgeRand", "link-rr", note="thinned to as many pairs as there are links in expectation"),
    Line("EdgeRand (all pairs)", "link-rr", corrected=False, note="all that are reported", role="companion"),
)


def compute(given: FigureInput) -> Chart:
    """The distance over the share of private links, over the budget, and by hops."""
    graph, users = load(given.data)
    runs = given.runs or (1 if given.quick else RUNS)
    shares, epsilons = (QUICK_SHARES, QUICK_EPSILONS) if given.quick else (SHARES, EPSILONS)
    asked = [
        Asked(line, epsilon, share)
        for line in LINES
        for epsilon in epsilons
        for share in _shares(line, epsilon, shares)
    ]
    taus, tree_shares = (QUICK_TAUS, QUICK_TREE_SHARES) if given.quick else (TAUS, TREE_SHARES)
    asked += [
        one
        for line in LINES
        if line.mechanism == OPEN
        for share in SHARES_OVER_EPSILON
        for one in (*_with_taus(line, share, taus), *_with_trees(line, share, tree_shares))
    ]
    steps = {"sweeps": QUICK_STEPS} if given.quick else {}
    measured: dict[Asked, Distances | str] = {}
    for place, one in enumerate(asked):
        given.progress(one.told, place / len(asked))
        measured[one] = _tried(one, graph, users, runs, steps if one.line.mechanism in WALKS else {})
    found = Found(measured, _references(graph, runs), epsilons, shares)
    panels = [
        found.over_shares(),
        found.over_epsilon(),
        found.over_hops(),
        found.over_setting("τ₁ = τ_e", taus, _with_taus, "x"),
        found.over_setting("share of ε for the dendrogram", tree_shares, _with_trees),
    ]
    return Chart(tuple(panel for panel in panels if panel.series), tuple(found.findings()), columns=3)


@dataclass(frozen=True)
class Asked:
    """A line at one budget, where a share of all links is private, with other options than the usual ones."""

    line: Line
    epsilon: float
    share: float
    others: tuple[tuple[str, float], ...] = ()

    @property
    def told(self) -> str:
        """What is measured, in words."""
        more = [f"ρ = {self.share:g}"] if self.line.partly else []
        more += [f"{name} = {value:g}" for name, value in self.others]
        return ", ".join([self.line.label, f"ε = {self.epsilon:g}", *more])

    def publish(
        self, graph: Graph, users: Users, seed: int, more: Mapping[str, Any] = MappingProxyType({})
    ) -> Pairs:
        """The published links of one run."""
        line, public = self.line, graph.pairs()[:0]
        options: dict[str, Any] = {**dict(self.others), **more}
        if line.partly:
            edges = divide_edges(graph, self.share, seed)
            public = edges.public
            options |= {"public": public.ravel(), "private_users": edges.private_users}
        drawn = published(
            graph, users, line.mechanism, self.epsilon, seed, options=options, corrected=line.corrected
        )
        return np.concatenate([public, drawn])


def published(
    graph: Graph,
    users: Users,
    mechanism: str,
    epsilon: float,
    seed: int,
    *,
    options: Mapping[str, Any] | None = None,
    corrected: bool = True,
) -> Pairs:
    """The links that a mechanism publishes (pairs x 2), through a plan that simulated users answer.

    ``corrected`` thins what users report to as many pairs as there are links in expectation (see `denoise.private_graph`); else all
    reported pairs are links. A curator's graph is taken as it is. A mechanism that nobody has registered is refused.
    """
    if mechanism not in names("links"):
        raise InputError(f"{mechanism} is not there: no mechanism of links has that name")
    plan = Plan(mechanism=mechanism, epsilon=epsilon, dims=graph.node_count, options=dict(options or {}))
    _refuse_too_many(plan, graph, corrected)
    answering = users.answering(
        users.open_ledger(plan.claim.epsilon, plan.claim.delta),
        seed=seed,
        curator=entry(mechanism).trust == "curator",
    )
    reports = answering.report(plan)
    if not corrected:
        return denoise.ReportedLinks.of(reports).pairs
    return denoise.private_graph(reports, "plain", seed).pairs


def random_pairs(nodes: int, count: int, seed: int) -> Pairs:
    """So many different pairs of users, all choices equally likely."""
    codes = np.random.default_rng(seed).choice(nodes * (nodes - 1) // 2, count, replace=False, shuffle=False)
    # Pairs in the order (1, 0), (2, 0), (2, 1), (3, 0), …: those before user i are i(i-1)/2.
    larger = ((1 + np.sqrt(1 + 8 * codes.astype(np.float64))) / 2).astype(np.int64)
    larger += larger * (larger + 1) // 2 <= codes
    larger -= larger * (larger - 1) // 2 > codes
    return np.stack([larger, codes - larger * (larger - 1) // 2], axis=1)


def _refuse_too_many(plan: Plan, graph: Graph, corrected: bool) -> None:
    """Refuse links whose noise does not fit into memory, or whose walks would take too long; by public numbers."""
    mechanism = plan.build()
    denoise.refuse_too_many(mechanism, None, dense=True)
    if isinstance(mechanism, LinkMechanism) and not mechanism.as_many_as_links and not corrected:
        steps = mechanism.flip * float(graph.node_count) ** 3
        if steps > MOST_STEPS:
            raise InputError(f"walks along all pairs that are reported take {steps:.1g} steps")


def _shares(line: Line, epsilon: float, shares: Sequence[float]) -> list[float]:
    """The shares of private links that a line is drawn at; one that protects all links has the same graph at any."""
    if not line.partly:
        return [1.0]
    return sorted({*(shares if epsilon == EPSILON else ()), *SHARES_OVER_EPSILON})


def _with_taus(line: Line, share: float, taus: Sequence[float]) -> list[Asked]:
    """A line where subtrees of other sizes are counted as one."""
    return [Asked(line, EPSILON, share, (("tau_split", tau), ("tau_inner", tau))) for tau in taus]


def _with_trees(line: Line, share: float, parts: Sequence[float]) -> list[Asked]:
    """A line where the dendrogram gets other parts of the budget."""
    return [Asked(line, EPSILON, share, (("tree_share", part),)) for part in parts]


def _tried(asked: Asked, graph: Graph, users: Users, runs: int, more: Mapping[str, Any]) -> Distances | str:
    """The distances in each run, or why there are none; with more options of the mechanism."""
    try:
        graphs = (graph.with_edges(asked.publish(graph, users, seed, more)) for seed in range(runs))
        return np.array([walk_distances(graph, other, HOPS) for other in graphs])
    except InputError as error:
        return str(error)


def _references(graph: Graph, runs: int) -> dict[str, Distances]:
    """What those come to who know of the graph no more than its size."""
    nodes, count = graph.node_count, graph.edge_count
    at_random = [
        walk_distances(graph, graph.with_edges(random_pairs(nodes, count, seed)), HOPS)
        for seed in range(runs)
    ]
    return {
        "no links: everybody stays": walk_distances(graph, graph.without_edges(), HOPS)[None],
        "as many pairs at random": np.array(at_random),
        "no graph: anywhere, equally likely": walk_distances(graph, None, HOPS)[None],
    }


@dataclass(frozen=True)
class Found:
    """All distances, as lines of panels and as sentences."""

    measured: Mapping[Asked, Distances | str]
    references: Mapping[str, Distances]
    epsilons: tuple[float, ...]
    shares: tuple[float, ...]

    def over_shares(self) -> ChartPanel:
        """At one budget: lines that protect all links, and references, are flat."""
        lines = [
            self._series(line.label, self.shares, [Asked(line, EPSILON, share) for share in self.shares])
            for line in self._drawn()
        ]
        title = f"ε = {EPSILON:g}, up to {HOPS} hops"
        return ChartPanel(
            title, "ρ, share of private links", Y_LABEL, (*lines, *self._flat(self.shares)), "x"
        )

    def over_epsilon(self) -> ChartPanel:
        """One line for each share, where that makes a difference."""
        lines = [
            self._series(label, self.epsilons, [replace(one, epsilon=epsilon) for epsilon in self.epsilons])
            for label, one in self._with_shares()
        ]
        title = f"over ε, up to {HOPS} hops"
        return ChartPanel(title, "ε of one link", Y_LABEL, (*lines, *self._flat(self.epsilons)), "x")

    def over_hops(self) -> ChartPanel:
        """Walks of so many steps alone, at one budget."""
        lines = [
            _by_hops(label, found, one.line.note, one.line.role)
            for label, one in self._with_shares()
            if (found := self._of(one)) is not None
        ]
        lines += [_by_hops(label, known, role="reference") for label, known in self.references.items()]
        return ChartPanel(f"ε = {EPSILON:g}, hop by hop", "steps of a walk", Y_LABEL, tuple(lines))

    def over_setting(
        self,
        label: str,
        values: tuple[float, ...],
        asked: Callable[[Line, float, Sequence[float]], list[Asked]],
        logarithmic: Literal["", "x"] = "",
    ) -> ChartPanel:
        """At one budget over what the document leaves open."""
        lines = [
            self._series(f"{line.label}, ρ = {share:g}", values, asked(line, share, values))
            for line in self._drawn()
            if line.mechanism == OPEN
            for share in SHARES_OVER_EPSILON
        ]
        title = f"ε = {EPSILON:g}, up to {HOPS} hops"
        return ChartPanel(title, label, Y_LABEL, tuple(lines), logarithmic)

    def findings(self) -> list[str]:
        """Where a mechanism's graph is nearer than all references, and what was left out."""
        nearer = [f"{label} {self._nearer(one)}" for label, one in self._with_shares()]
        said = (
            [f"Nearer to G than all that know nothing of its links: {'; '.join(nearer)}."] if nearer else []
        )
        for line in LINES:
            missing = [one for one in self.measured if one.line == line and self._of(one) is None]
            if missing:
                reasons = "; ".join(dict.fromkeys(str(self.measured[one]) for one in missing))
                at = f" at ε = {spans([one.epsilon for one in missing], self.epsilons)}"
                said.append(f"{line.label} is left out{at if line in self._drawn() else ''}: {reasons}.")
        return said

    def _nearer(self, asked: Asked) -> str:
        """At which budgets a line is below all references, its interval too, and by how much."""
        least = min(_together(known).mean for known in self.references.values())
        gains = {}
        for epsilon in self.epsilons:
            known = self._of(replace(asked, epsilon=epsilon))
            together = None if known is None else _together(known)
            if together is not None and (together.mean if together.high is None else together.high) < least:
                gains[epsilon] = 1 - together.mean / least
        if not gains:
            return "nowhere"
        by = " to ".join(dict.fromkeys(f"{gain:.1%}" for gain in (min(gains.values()), max(gains.values()))))
        return f"at ε = {spans(list(gains), self.epsilons)} (by {by})"

    def _with_shares(self) -> list[tuple[str, Asked]]:
        """The lines with their names, one for each share where that makes a difference, at the document's budget."""
        return [
            (f"{line.label}, ρ = {share:g}" if line.partly else line.label, Asked(line, EPSILON, share))
            for line in self._drawn()
            for share in (SHARES_OVER_EPSILON if line.partly else (1.0,))
        ]

    def _drawn(self) -> list[Line]:
        """The lines that have any number."""
        return [
            line
            for line in LINES
            if any(one.line == line and self._of(one) is not None for one in self.measured)
        ]

    def _of(self, asked: Asked) -> Distances | None:
        """The distances, if there are any; the share makes no difference to those that protect all links."""
        share = asked.share if asked.line.partly else 1.0
        found = self.measured.get(replace(asked, share=share))
        return None if found is None or isinstance(found, str) else found

    def _series(self, label: str, x: tuple[float, ...], asked: Sequence[Asked]) -> Series:
        found = (self._of(one) for one in asked)
        y = tuple(None if each is None else _together(each) for each in found)
        return Series(label, x, y, asked[0].line.note, asked[0].line.role)

    def _flat(self, x: tuple[float, ...]) -> list[Series]:
        return [
            Series(label, x, (_together(known),) * len(x), role="reference")
            for label, known in self.references.items()
        ]


def _together(distances: Distances) -> Summary:
    """The root mean square over all hops, over runs."""
    return t_interval(np.sqrt((distances**2).mean(axis=1)).tolist())


def _by_hops(label: str, distances: Distances, note: str = "", role: Role = "line") -> Series:
    """Walks of one step, of two, and so on."""
    hops = tuple(float(hop) for hop in range(1, HOPS + 1))
    return Series(label, hops, tuple(t_interval(column.tolist()) for column in distances.T), note, role)
