"""What is known of something that one run made of every user: where it comes from, and what it cost them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from graphveil.experiments.runs.privacy_record import artefact_statement
from graphveil.experiments.runs.unit import Ready
from graphveil.experiments.specs.spec import DATA_PREFIX, Spec
from graphveil.version import __version__


@dataclass(frozen=True, kw_only=True, eq=False)
class AboutRun:
    """Where an embedding or predictions come from.

    ``privacy`` is what the users' ledger says was spent, ``statement`` the same in words. ``settings`` are all of them, the
    defaults and the loader's too. ``edges`` counts the links that the server knew: those of training where links are predicted, and nothing
    where links are private.
    """

    method: str
    data: str
    task: str
    epsilon: float | None
    mechanism: str | None
    backbone: str
    seed: int
    settings: dict[str, Any]
    version: str
    users: int
    edges: int | None
    privacy: dict[str, Any]
    statement: str


def about_run(
    spec: Spec, ready: Ready, run: int, what: str, *, simulated: bool = True, drawn: str = ""
) -> dict[str, Any]:
    """The fields of `AboutRun` for what run ``run`` of a spec has made; ``what`` it is, in a word.

    Reports are ``simulated`` from the run's seed, unless devices have sent them; ``drawn`` says it where only some are.
    """
    privacy = ready.privacy()
    private_links = spec.budgets.link_epsilon is not None
    graph = ready.job.graph
    known = bool((graph.labels >= 0).any())
    public = [*(() if private_links else ("links",)), *(("known labels",) if known else ())]
    given = {**spec.settings, **{DATA_PREFIX + key: value for key, value in spec.data_options.items()}}
    # As a file gives them back: lists for tuples.
    settings = json.loads(json.dumps({**given, **spec.full_settings().model_dump()}, default=str))
    return {
        "method": spec.method,
        "data": spec.data,
        "task": spec.task,
        "epsilon": spec.budgets.epsilon,
        "mechanism": None if spec.budgets.epsilon is None else spec.budgets.mechanism,
        "backbone": spec.backbone,
        "seed": spec.seed + run,
        "settings": settings,
        "version": __version__,
        "users": graph.node_count,
        "edges": None if private_links else graph.edge_count,
        "privacy": privacy.to_dict(),
        "statement": artefact_statement(privacy, spec.seed + run if simulated else None, public, what, drawn),
    }
