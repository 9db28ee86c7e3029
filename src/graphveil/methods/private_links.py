"""Private links: what a job says of them, the question for them, and the graph that reports of them make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from graphveil import denoise
from graphveil.plugins import unknown_name
from graphveil.privacy import Plan
from graphveil.progress import listening

if TYPE_CHECKING:
    from graphveil.methods.job import Job

# plain: as reported, thinned; hard: likelier than not; soft: weighed by how likely; hybrid: weighed by the square of that.
VARIANTS = ("plain", "hard", "soft", "hybrid")


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

    # Options that say what is private and what is made of reports, and nothing to a mechanism.
    not_of_mechanisms: ClassVar[tuple[str, ...]] = ("variant", "private_edges")

    options: Mapping[str, Any] = field(default_factory=dict)
    users: NDArray[np.int64] | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)


def link_plan(job: Job) -> Plan:
    """Return the question for everybody's links."""
    links = job.links
    own = {key: value for key, value in links.options.items() if key not in links.not_of_mechanisms}
    if links.users is not None:
        own |= {"public": job.graph.pairs().ravel(), "private_users": links.users}
    budgets, users = job.budgets, job.graph.node_count
    return Plan(mechanism=budgets.link_mechanism, epsilon=budgets.link_epsilon, dims=users, options=own)


def with_private_links(job: Job) -> Job:
    """Ask for links: the job as it goes on, with the private graph for its graph."""
    plan, usual = job.questions.links, "plain" if job.budgets.link_mechanism == "link-rr" else "hybrid"
    variant = job.links.options.get("variant", usual)
    if variant not in VARIANTS:
        raise unknown_name("variant of links", str(variant), VARIANTS)
    assert plan is not None
    job.say("asking for links", 0.0)
    with listening(job.progress):
        reports = job.users.report(plan)
    job.say("weighing links", 0.0)
    private = denoise.private_graph(reports, cast(denoise.Variant, variant), job.seed)
    known = job.graph.pairs()
    pairs = np.concatenate([known, private.pairs.astype(np.int64)])
    weights = np.concatenate([np.ones(len(known)), private.weights])
    graph = replace(job.graph, links=None).with_edges(pairs, weights)
    numbers = {"links_kept": float(len(pairs)), "links_left_out": private.left_out}
    if job.links.users is not None:
        numbers["links_public"] = float(len(known))
    links = replace(job.links, numbers=numbers)
    return replace(job, graph=job.task.with_private_links(graph, job.seed), links=links)
