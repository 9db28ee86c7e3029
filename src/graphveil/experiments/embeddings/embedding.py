"""Embeddings: a row of numbers for each user, and what it cost them."""

from __future__ import annotations

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
from graphveil.experiments.runs.about import AboutRun, about_run
from graphveil.experiments.runs.unit import make_ready
from graphveil.experiments.specs.given import take_data
from graphveil.experiments.specs.spec import Spec
from graphveil.graphs import Graph, Users
from graphveil.methods.job import Progress


@dataclass(frozen=True, kw_only=True, eq=False)
class About(AboutRun):
    """What is known of an embedding besides its numbers; ``reduced_from`` is the number of columns before a reduction."""

    reduced_from: int | None


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
    data: Any,
    users: Users | None = None,
    *,
    dims: int | None = None,
    inside: Progress | None = None,
    **options: Any,
) -> Embedding:
    """The embedding that a method learns on a dataset (a name or a path, a graph with its users, or PyG's Data).

    Options are those fields of `Spec` that one run has: epsilon, mechanism, backbone, task, seed, settings and so on.
    ``dims`` reduces the columns, which costs nobody anything.
    """
    for name in ("runs", "control"):
        if name in options:
            raise InputError(f"an embedding comes from one run without a control: leave {name} out")
    name, given, options = take_data(data, users, options)
    return embed_spec(Spec.of(method, name, **options), dims=dims, inside=inside, given=given)


def embed_spec(
    spec: Spec,
    *,
    dims: int | None = None,
    inside: Progress | None = None,
    given: tuple[Graph, Users] | None = None,
) -> Embedding:
    """The embedding of a spec's first run: the same split, the same reports and the same model as `run_spec` has there."""
    return embed_known(spec, dims=dims, inside=inside, given=given)[0]


def embed_known(
    spec: Spec,
    *,
    dims: int | None = None,
    inside: Progress | None = None,
    given: tuple[Graph, Users] | None = None,
) -> tuple[Embedding, Graph]:
    """The embedding of a spec's first run, and the graph with all that its server knew before anybody answered."""
    check_embedding(spec, dims)
    if given is not None:
        spec.check_given(given[0])
    with learn.one_thread():
        ready = make_ready(spec, "method", 0, inside, given)
        whole = np.array(ready.method.embed(ready.job), dtype=np.float32)
    values = whole if dims is None else reduce_columns(whole, dims)
    reduced_from = None if dims is None else whole.shape[1]
    embedding = Embedding(values=values, reduced_from=reduced_from, **about_run(spec, ready, 0, "embedding"))
    return embedding, ready.job.graph


def check_embedding(spec: Spec, dims: int | None) -> None:
    """Refuse what cannot be embedded, before anything heavy is imported."""
    spec.check()
    if dims is not None:
        check_dims(dims)
