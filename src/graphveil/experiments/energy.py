"""The Dirichlet energy that reports keep after hops of SKA and HOA, at the budgets that were run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from graphveil import denoise
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.figure import Chart, ChartPanel, Series
from graphveil.experiments.page import Section
from graphveil.experiments.result import Result
from graphveil.experiments.table import Table
from graphveil.experiments.unit import RunUnit, job_levels, respondents, with_levels
from graphveil.graphs import Graph, Users, load
from graphveil.methods.job import Job, feature_plan
from graphveil.methods.terms import Budgets
from graphveil.number_format import budget, percent, rounded, rounded_or_whole
from graphveil.privacy import Nobody
from graphveil.statistics import Summary

# Wide reports are projected to so many columns first; their energies are then right to √(2/256) = 9% (one deviation) or better.
SKETCH = 256
# A mechanism that reports every value needs users x features numbers: so many gigabytes are allowed, if a run allowed no other.
MAX_GIGABYTES = 2.0
# Up to so much, the curves of reports and control are called the same.
SAME = 0.05
MEANING = (
    "The Dirichlet energy says how different neighbours are: Σ ‖h_i/√deg_i - h_j/√deg_j‖² over all neighbours j of a user i, "
    "averaged over users, here in units of the energy of the reports before the first hop. Where it is near 0, hops have made "
    "everybody in a component alike, which is called over-smoothing: SKA (the last of K hops) loses energy geometrically, HOA "
    "(the mean of hops 1 to K) like 1/K²; bipartite components are an exception, named where there are any."
)
THEOREM = (
    "UPGNET's Theorem 4 says that HOA's energy over SKA's goes to 0 and reads that as less smoothing. It is the wrong way "
    "round: less energy is more smoothing, and in a connected graph that is not bipartite the ratio grows without bound in "
    "the end, though at a few hops it may be below 1."
)
HOW = (
    "Each curve is one simulated collection with the seed of the first run, on the graph as it is loaded here. Of more than "
    f"{SKETCH} features, energies are estimated from {SKETCH} random projections, to within 9% (one standard deviation) or better."
)


@dataclass(frozen=True)
class EnergyCurve:
    """The energies of one simulated collection; ``epsilon`` None is the control."""

    epsilon: float | None
    energies: denoise.HopEnergies

    @property
    def label(self) -> str:
        """Its name in pictures and tables."""
        return "control" if self.epsilon is None else budget(self.epsilon)

    @property
    def mixing(self) -> denoise.HopEnergies:
        """The energies without bipartite components; all of them where there are none."""
        return self.energies.mixing or self.energies


def energy_sections(
    name: str, results: Sequence[Result], hops: int, tell: Callable[[str], None]
) -> list[Section]:
    """Return a section per mechanism for the results on one graph, skipping those that cannot be repeated.

    Parameters
    ----------
    name
        The name of the graph.
    hops
        The number of hops.
    tell
        Called with a sentence about each result that is skipped.
    """
    kinds: dict[str, list[Experiment]] = {}
    for result in sorted(results, key=lambda each: (each.mechanism or "", each.epsilon or 0.0, each.seed)):
        try:
            if spec := experiment_of(result):
                kinds.setdefault(_mechanism_name(spec), []).append(spec)
        except GraphveilError as error:
            tell(f"{result.method} on {name} has no energy here: {error}")
    if not kinds:
        return []
    try:
        tell(f"loading {name}")
        first = next(iter(kinds.values()))[0]
        # JSON has no tuples.
        given = first.loader_options.items()
        options: dict[str, Any] = {
            key: tuple(each) if isinstance(each, list) else each for key, each in given
        }
        graph, users = load(first.data, seed=0, **options)
    except (GraphveilError, OSError, TypeError) as error:
        tell(f"{name} cannot be loaded here: {error}")
        missing = f"{name} cannot be loaded here, so the energy of its reports is not shown."
        return [Section(f"{name}: energy over hops", (missing,), level=3)]
    return [_section(name, kind, specs, graph, users, hops, tell) for kind, specs in kinds.items()]


def experiment_of(result: Result) -> Experiment | None:
    """Return a result's experiment with its features alone; None if they were not reported, or links were private."""
    if result.epsilon is None or result.mechanism is None:
        return None
    if result.privacy is not None and result.privacy.links is not None:
        return None
    budgets = Budgets(result.epsilon, result.experiment.budgets.delta, result.mechanism)
    experiment = replace(result.experiment, data=result.data, seed=result.seed, budgets=budgets)
    # A stored name is looked up among what is registered here: no code is run because a result names it.
    _ = experiment.resolved_method
    return experiment


def _mechanism_name(spec: Experiment) -> str:
    """Return a mechanism with the options that it was set to."""
    extra = dict(spec.mechanism_options) | ({} if spec.budgets.delta is None else {"δ": spec.budgets.delta})
    options = ", ".join(f"{key}={value}" for key, value in sorted(extra.items()))
    return f"{spec.budgets.mechanism} ({options})" if options else spec.budgets.mechanism


def collect(spec: Experiment, graph: Graph, users: Users, hops: int, *, blind: bool = False) -> EnergyCurve:
    """Ask all users once, as a run of this experiment does, and measure the energy of their answers.

    Parameters
    ----------
    spec
        The experiment.
    graph, users
        Its data as loaded.
    hops
        The number of hops.
    blind
        Whether to ask through blinded channels, as the control does.
    """
    if spec.has_levels:
        users = with_levels(spec, users, spec.seed)
    job = Job(
        graph,
        Nobody(),
        None,
        spec.seed,
        budgets=spec.budgets,
        levels=job_levels(spec),
        mechanism_options=spec.mechanism_options,
    )
    plan = feature_plan(job)
    size = graph.node_count * plan.build().shape.length * 8 / 1e9
    if size > MAX_GIGABYTES:
        raise InputError(f"{spec.budgets.mechanism} reports every value: {size:.1f} GB are too many here")
    # Each user may spend what the plan claims at most: nothing else is asked here.
    ledger = users.open_ledger(plan.claim.epsilon, plan.claim.delta)
    unit = RunUnit(spec, "control" if blind else "method")
    estimate = respondents(unit, users, ledger).report(plan).estimate()
    return EnergyCurve(
        None if blind else spec.budgets.epsilon,
        denoise.energy_over_hops(estimate, graph, hops, sketch=SKETCH).relative,
    )


def _section(
    name: str,
    kind: str,
    specs: Sequence[Experiment],
    graph: Graph,
    users: Users,
    hops: int,
    tell: Callable[[str], None],
) -> Section:
    title = f"{name}: energy over hops, {kind}"
    # One collection a budget: the first seed's.
    chosen = list({spec.budgets.epsilon: spec for spec in reversed(specs)}.values())[::-1]
    curves, refused = [], []
    for spec, blind in [*((spec, False) for spec in chosen), (chosen[-1], True)]:
        label = "control" if blind else budget(spec.budgets.epsilon)
        tell(f"energy of {kind} on {name}, {label}")
        try:
            curves.append(collect(spec, graph, users, hops, blind=blind))
        except (GraphveilError, TypeError) as error:
            refused.append(f"Not shown: {'the ' if blind else ''}{label}, since {error}.")
    if not curves:
        return Section(title, tuple(refused), level=3)
    text = [*_measured(curves, hops), *refused]
    shape, energies = denoise.find_components(graph), curves[0].energies
    if shape.bipartite_count:
        text.insert(
            0,
            f"Of the {shape.constant.shape[1]} components of {name} that have edges, {shape.bipartite_count} are bipartite (pairs, stars "
            f"and others with edges only between two groups), with {int(shape.bipartite.sum()):,} users in all. There SKA swaps the two "
            f"groups forever: its energy stays above {rounded(energies.floor, 2)} of the start, so over all users HOA/SKA does go to 0. "
            "That is no merit of HOA's against over-smoothing; the second panel leaves these components out.",
        )
    return Section(title, tuple(text), _chart(curves, hops), _table(curves, hops), level=3)


def _measured(curves: Sequence[EnergyCurve], hops: int) -> tuple[str, ...]:
    """Return sentences about the curves: where HOA overtakes SKA, and whether the control looks the same."""
    budgets = [curve for curve in curves if curve.epsilon is not None]
    if not budgets:
        return ()
    best = max(budgets, key=lambda curve: curve.epsilon or 0.0)
    mixing, where = best.mixing, " without the bipartite components" if best.energies.mixing else ""
    below = np.flatnonzero(mixing.ratio[1:] <= 1) + 1
    last = int(below[-1]) if len(below) else 0
    says = f"At {best.label} and K = {hops}, HOA's energy is {rounded_or_whole(mixing.ratio[hops])} times SKA's{where}"
    if last == hops:
        says += ": up to here HOA smooths more, since its mean cancels what SKA flips from hop to hop."
    else:
        says += f"; HOA keeps more than SKA from K = {last + 1} on."
    # The control is asked last.
    if curves[-1].epsilon is not None:
        return (says,)
    control = curves[-1].energies
    pairs = ((best.energies.ska, control.ska), (best.energies.hoa, control.hoa))
    gap = max(float(np.abs(one / np.maximum(other, 1e-300) - 1).max()) for one, other in pairs)
    near = f"The control, whose reports carry nothing, is within {percent(gap, '.2g')} of the curves at {best.label}"
    return says, near + (": almost all that is smoothed here is noise." if gap < SAME else ".")


def _chart(curves: Sequence[EnergyCurve], hops: int) -> Chart:
    """Draw energy over hops on two logarithmic scales; bipartite components are left out of a second panel, where there are any."""
    places = _powers(hops, 2)
    panels = []
    for outside in (False, True) if any(curve.energies.mixing for curve in curves) else (False,):
        series = []
        for curve in curves:
            energies = curve.mixing if outside else curve.energies
            for kind, values in (("SKA", energies.ska), ("HOA", energies.hoa)):
                shown = tuple(Summary(float(values[k])) if values[k] > 0 else None for k in places)
                series.append(Series(f"{kind}, {curve.label}", tuple(map(float, places)), shown))
        title = "without bipartite components" if outside else "all users"
        panels.append(ChartPanel(title, "hops K", "energy (reports = 1)", tuple(series), "xy"))
    return Chart(tuple(panels))


def _table(curves: Sequence[EnergyCurve], hops: int) -> Table:
    """Return the same in numbers, for some K."""
    split = any(curve.energies.mixing for curve in curves)
    names = ("SKA", "HOA", "HOA/SKA")
    head = ("reports", "K", *names, *(f"{name}, not bipartite" for name in names if split))
    rows = []
    for curve, k in product(curves, sorted({*_powers(hops, 4), hops})):
        parts = (curve.energies, curve.mixing) if split else (curve.energies,)
        numbers = [value[k] for part in parts for value in (part.ska, part.hoa, part.ratio)]
        rows.append((curve.label, str(k), *map(rounded_or_whole, numbers)))
    return Table.of(head, rows)


def _powers(most: int, base: int) -> list[int]:
    """1, base, base² and so on.

    >>> _powers(64, 4)
    [1, 4, 16, 64]
    """
    return [base**power for power in range(most.bit_length()) if base**power <= most]
