"""Private links: what a job says of them, the question for them, and the graph that reports of them make."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from graphveil import denoise
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.links import PRIVATE_EDGES, DividedEdges, divide_edges, private_edges_file
from graphveil.mechanisms import entry
from graphveil.methods.terms import Budgets
from graphveil.plugins import unknown_name
from graphveil.privacy import Plan
from graphveil.progress import listening

if TYPE_CHECKING:
    from graphveil.methods.job import Job

# plain: as reported, thinned; hard: likelier than not; soft: weighed by how likely; hybrid: weighed by the square of that.
VARIANTS = ("plain", "hard", "soft", "hybrid")
# Options that say what is private and what is made of reports, and nothing to a mechanism.
NOT_OF_MECHANISMS = ("variant", PRIVATE_EDGES)
# What options for links begin with.
LINK_PREFIX = "link."


@dataclass(frozen=True)
class LinkUse:
    """The way in which a method uses private links.

    Parameters
    ----------
    mechanism
        By which they are reported where nothing else is asked for.
    settings
        Settings of the method that are options of that mechanism, by the same names, or say which links are private.
    grid
        What `graphveil tune` searches besides where links are private.
    asked_for
        Tasks for which the method asks for links itself, and weighs them its own way. Else that is done before it learns.
    """

    mechanism: str = "link-rr"
    settings: tuple[str, ...] = ()
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    asked_for: tuple[str, ...] = ()


@dataclass(frozen=True)
class LinkOptions:
    """The options of an experiment for private links, besides their budget.

    Parameters
    ----------
    use
        The way in which its method uses them.
    budgets
        The budget and the mechanism for links.
    given
        Options below "link.": the mechanism's, which links are private, and the variant of the private graph.
    settings, chosen
        The method's settings, some of which may be such options, and those of them that were chosen.
    """

    use: LinkUse
    budgets: Budgets
    given: Mapping[str, Any]
    settings: Any
    chosen: Mapping[str, Any]

    @property
    def options(self) -> dict[str, Any]:
        """All options: those below "link.", and where links are private the method's settings that their mechanism takes."""
        own = filter(self._serves, self.use.settings) if self.budgets.private_links else ()
        return {**{name: getattr(self.settings, name) for name in own}, **self.given}

    @property
    def private_edges(self) -> Any:
        """The private links, as a share or a file, if others are public; None if all are private."""
        return self.options.get(PRIVATE_EDGES) if self.budgets.private_links else None

    @property
    def files(self) -> tuple[Path, ...]:
        """The file that says which links are private, if one does."""
        file = None if self.private_edges is None else private_edges_file(self.private_edges)
        return () if file is None else (file,)

    def divided(self, graph: Graph, seed: int) -> DividedEdges | None:
        """Return the links of a graph that stay public, and whose are private; None if all are private, or none."""
        return None if self.private_edges is None else divide_edges(graph, self.private_edges, seed)

    def _serves(self, name: str) -> bool:
        """Return whether the mechanism for links has an option; private edges need ``public``."""
        accepted = inspect.signature(entry(self.budgets.link_mechanism).build).parameters
        return ("public" if name == PRIVATE_EDGES else name) in accepted

    def check(self) -> None:
        """Refuse options that have no meaning, before anything is loaded."""
        mechanism = self.budgets.link_mechanism
        own = [name for name in self.use.settings if name in self.chosen]
        named = [f"{LINK_PREFIX}{name}" for name in self.given] + own
        if mechanism != self.use.mechanism:
            named.append("--link-mechanism")
        if named and not self.budgets.private_links:
            raise InputError(f"{named[0]} has no meaning where links are public: give --link-epsilon too")
        for name in self.given:
            if name in ("public", "private_users"):
                raise InputError(f"link.{name} follows from which links are private: give private_edges")
            if name in own:
                raise InputError(f"{name} and {LINK_PREFIX}{name} are the same: give one of them")
        for name in [*own, *(name for name in self.given if name == PRIVATE_EDGES)]:
            if not self._serves(name):
                raise InputError(f"{name} has no meaning for {mechanism}: leave it out, or take edgerr")
        # Refuses a share or a file that is none.
        _ = self.files
        check_variant(self.given.get("variant", VARIANTS[0]))
        if "variant" in self.given and entry(mechanism).trust == "curator":
            raise InputError(f"the graph of {mechanism} is taken as it is: leave link.variant out")


def check_variant(variant: Any) -> denoise.Variant:
    """Return the variant of the private graph, if it is one."""
    if variant not in VARIANTS:
        raise unknown_name("variant of links", str(variant), VARIANTS)
    # A name, so that nothing is loaded for it.
    return cast("denoise.Variant", variant)


@dataclass(frozen=True)
class PrivateLinks:
    """The options of a job for private links, besides their budget.

    Parameters
    ----------
    options
        What their mechanism is set to, and the variant of the private graph that is taken.
    users
        Who may have private links, where other links are public and are the graph's edges; None where all links are private.
    numbers
        What is known of the private graph, by name, once links were asked for.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    users: NDArray[np.int64] | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)


def link_plan(job: Job) -> Plan:
    """Return the question for everybody's links."""
    links = job.links
    own = {key: value for key, value in links.options.items() if key not in NOT_OF_MECHANISMS}
    if links.users is not None:
        own |= {"public": job.graph.pairs().ravel(), "private_users": links.users}
    budgets, users = job.budgets, job.graph.node_count
    return Plan(mechanism=budgets.link_mechanism, epsilon=budgets.link_epsilon, dims=users, options=own)


def with_private_links(job: Job) -> Job:
    """Ask for links: the job as it goes on, with the private graph for its graph."""
    plan, usual = job.questions.links, "plain" if job.budgets.link_mechanism == "link-rr" else "hybrid"
    variant = check_variant(job.links.options.get("variant", usual))
    assert plan is not None
    job.say("asking for links", 0.0)
    with listening(job.progress):
        reports = job.users.report(plan)
    job.say("weighing links", 0.0)
    private = denoise.private_graph(reports, variant, job.seed)
    known = job.graph.pairs()
    pairs = np.concatenate([known, private.pairs.astype(np.int64)])
    weights = np.concatenate([np.ones(len(known)), private.weights])
    graph = replace(job.graph, links=None).with_edges(pairs, weights)
    numbers = {"links_kept": float(len(pairs)), "links_left_out": private.left_out}
    if job.links.users is not None:
        numbers["links_public"] = float(len(known))
    links = replace(job.links, numbers=numbers)
    return replace(job, graph=job.task.with_private_links(graph, job.seed), links=links)
