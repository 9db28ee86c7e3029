"""Embeddings: a row of numbers for each user, and what it cost them."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from graphveil import learn
from graphveil.errors import InputError
from graphveil.experiments.embeddings.file import read_values, write_values
from graphveil.experiments.embeddings.reduction import check_dims, reduce_columns
from graphveil.experiments.runs.privacy_record import embedding_statement
from graphveil.experiments.runs.unit import Ready, make_ready
from graphveil.experiments.specs.spec import DATA_PREFIX, Spec
from graphveil.graphs import Graph, Users
from graphveil.methods.job import Progress
from graphveil.version import __version__


@dataclass(frozen=True, kw_only=True, eq=False)
class About:
    """What is known of an embedding besides its numbers.

    ``privacy`` is what the users' ledger says was spent, ``statement`` the same in words. ``settings`` are all of them, the
    defaults and the loader's too. ``edges`` counts the links that the server knew: those of training where links are predicted, and nothing
    where links are private. ``reduced_from`` is the number of columns before a reduction.
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
    reduced_from: int | None
    privacy: dict[str, Any]
    statement: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Embedding(About):
    """A row of numbers for each user (n x h), and what is known of it."""

    values: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or len(self.values) != self.users:
            raise InputError(
                f"an embedding must have one row for each of {self.users} users, got shape {self.values.shape}"
            )
        if not np.isfinite(self.values).all():
            raise InputError("an embedding must have finite numbers only: give a smaller learning rate (lr)")
        self.values.setflags(write=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Users and columns."""
        rows, columns = self.values.shape
        return rows, columns

    def about(self) -> dict[str, Any]:
        """Everything but the numbers."""
        return {each.name: getattr(self, each.name) for each in fields(About)}

    def save(self, path: str | Path) -> None:
        """Write it as .npz or .parquet; `read_embedding` brings it back."""
        write_values(Path(path), self.values, self.about())


def read_embedding(path: str | Path) -> Embedding:
    """The embedding that `Embedding.save` or `graphveil embed` has written."""
    values, about = read_values(Path(path))
    try:
        known = TypeAdapter(About).validate_python(about)
        return Embedding(values=values, **vars(known))
    except (ValidationError, InputError) as error:
        problem = str(error)
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False)[0]
            problem = f"{'.'.join(str(step) for step in first['loc'])}: {first['msg']}"
        raise InputError(
            f"{path} holds no embedding ({problem}): name a file that `graphveil embed` has written"
        ) from None


def embed(
    method: str,
    data: str | Graph,
    users: Users | None = None,
    *,
    dims: int | None = None,
    inside: Progress | None = None,
    **options: Any,
) -> Embedding:
    """The embedding that a method learns on a dataset (a name or a path, or a graph with its users).

    Options are those fields of `Spec` that one run has: epsilon, mechanism, backbone, task, seed, settings and so on.
    ``dims`` reduces the columns, which costs nobody anything.
    """
    if isinstance(data, Graph) != (users is not None):
        raise InputError("give a graph together with its users, or the name of a dataset alone")
    for name in ("runs", "control"):
        if name in options:
            raise InputError(f"an embedding comes from one run without a control: leave {name} out")
    given = (data, users) if isinstance(data, Graph) and users is not None else None
    spec = Spec.of(method, data.name if isinstance(data, Graph) else data, **options)
    return embed_spec(spec, dims=dims, inside=inside, given=given)


def embed_spec(
    spec: Spec,
    *,
    dims: int | None = None,
    inside: Progress | None = None,
    given: tuple[Graph, Users] | None = None,
) -> Embedding:
    """The embedding of a spec's first run: the same split, the same reports and the same model as `run_spec` has there."""
    check_embedding(spec, dims)
    if given is not None:
        spec.check_given(given[0])
    with learn.one_thread():
        ready = make_ready(spec, "method", 0, inside, given)
        whole = np.array(ready.method.embed(ready.job), dtype=np.float32)
    values = whole if dims is None else reduce_columns(whole, dims)
    return _described(spec, ready, values, None if dims is None else whole.shape[1])


def check_embedding(spec: Spec, dims: int | None) -> None:
    """Refuse what cannot be embedded, before anything heavy is imported."""
    spec.check()
    if dims is not None:
        check_dims(dims)


def _described(spec: Spec, ready: Ready, values: NDArray[np.float32], reduced_from: int | None) -> Embedding:
    privacy = ready.privacy()
    private_links = spec.budgets.link_epsilon is not None
    graph = ready.job.graph
    known = bool((graph.labels >= 0).any())
    public = [*(() if private_links else ("links",)), *(("known labels",) if known else ())]
    given = {**spec.settings, **{DATA_PREFIX + key: value for key, value in spec.data_options.items()}}
    # As a file gives them back: lists for tuples.
    settings = json.loads(json.dumps({**given, **spec.full_settings().model_dump()}, default=str))
    return Embedding(
        values=values,
        method=spec.method,
        data=spec.data,
        task=spec.task,
        epsilon=spec.budgets.epsilon,
        mechanism=None if spec.budgets.epsilon is None else spec.budgets.mechanism,
        backbone=spec.backbone,
        seed=spec.seed,
        settings=settings,
        version=__version__,
        users=graph.node_count,
        edges=None if private_links else graph.edge_count,
        reduced_from=reduced_from,
        privacy=privacy.to_dict(),
        statement=embedding_statement(privacy, spec.seed, public),
    )
