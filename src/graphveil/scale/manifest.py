"""The manifest of a sharded graph, ``graph.json``, and what is said of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError, model_validator

from graphveil.errors import InputError
from graphveil.files import read_json
from graphveil.graphs.graph import MAX_NODES, Graph, Metric
from graphveil.graphs.load import MANIFEST
from graphveil.mechanisms.rows import PublicRange

FORMAT = 1
USERS, EDGES = "users.parquet", "edges.parquet"
# What users hold stands in a folder of its own: the public part can be shipped without it.
SIMULATED, REPORTS = "users", "reports"
# What there is only while a sharded graph is written.
SCATTERING, SORTING, COMING = ".scratch", ".sorting", f".{MANIFEST}.part"
LEFT = (SCATTERING, SORTING, COMING)
AGAIN = "write it again with `graphveil graph shard`"


class Partition(BaseModel):
    """A range of users: ``users`` of them from the shard number ``first`` on.

    ``entries`` counts their neighbours (each link once for each end), ``cut`` those of them in another partition.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    first: NonNegativeInt
    users: NonNegativeInt
    entries: NonNegativeInt
    cut: NonNegativeInt

    @property
    def end(self) -> int:
        """The shard number behind the last user."""
        return self.first + self.users


class Manifest(BaseModel):
    """All that is public of a sharded graph as a whole. ``source`` says where it came from, in the writer's words."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: int = FORMAT
    name: str
    users: int = Field(ge=0, le=MAX_NODES)
    entries: NonNegativeInt
    features: NonNegativeInt
    range: tuple[float, float] | None
    binary: bool
    classes: NonNegativeInt
    metric: Metric
    feature_names: tuple[str, ...] | None = None
    ids: Literal["text", "integer"] | None = None
    partitioner: str
    partitions: tuple[Partition, ...] = Field(min_length=1)
    source: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        parts, names = self.partitions, self.feature_names
        followed = all(part.first == before.end for before, part in pairwise(parts)) and parts[0].first == 0
        if not followed or any(part.cut > part.entries for part in parts):
            raise ValueError("its partitions do not follow each other")
        users, entries = parts[-1].end, sum(part.entries for part in parts)
        if (users, entries) != (self.users, self.entries):
            raise ValueError(
                f"its partitions hold {users} users and {entries} entries, the whole should have {self.users} and {self.entries}"
            )
        if names is not None and len(names) != self.features:
            raise ValueError(f"it names {len(names)} of {self.features} features")
        return self

    @classmethod
    def of(
        cls, graph: Graph, partitioner: str, partitions: tuple[Partition, ...], source: dict[str, Any]
    ) -> Manifest:
        """Return the manifest of a graph in these partitions.

        Parameters
        ----------
        graph
            The public side, whose links may be elsewhere.
        partitioner
            What divided it.
        partitions
            Its partitions.
        source
            Where it came from.
        """
        public, ids = graph.public_range, graph.ids
        return cls(
            name=graph.name,
            users=graph.node_count,
            entries=sum(part.entries for part in partitions),
            features=graph.feature_count,
            range=None if public is None else (public.low, public.high),
            binary=graph.binary,
            classes=graph.class_count,
            metric=graph.metric,
            feature_names=graph.feature_names,
            ids=None if ids is None else "text" if ids.dtype.kind == "U" else "integer",
            partitioner=partitioner,
            partitions=partitions,
            source=source,
        )

    @property
    def graph_fields(self) -> dict[str, Any]:
        """What `Graph` has of the whole, by its names."""
        return {
            "name": self.name,
            "feature_count": self.features,
            "public_range": None if self.range is None else PublicRange.of(self.range),
            "binary": self.binary,
            "class_count": self.classes,
            "metric": self.metric,
            "feature_names": self.feature_names,
        }

    @property
    def cut(self) -> float:
        """The share of entries whose two ends are in different partitions: what a hop must move between workers."""
        return sum(part.cut for part in self.partitions) / self.entries if self.entries else 0.0

    def write(self, folder: Path) -> None:
        """Write the manifest: from then on the folder is a sharded graph."""
        content = {**self.model_dump(mode="json"), "cut": self.cut}
        part = folder / COMING
        part.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        part.replace(folder / MANIFEST)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder, all of whose numbers fit each other; another file is refused."""
    file = folder / MANIFEST
    content = read_json(
        file,
        f"make it readable, or {AGAIN}",
        f"{folder} is no sharded graph, or was not written to its end: it has no {MANIFEST}; {AGAIN}",
    )
    if not isinstance(content, dict) or "format" not in content:
        raise InputError(f"{file} is not that of a sharded graph: it does not name its format; {AGAIN}")
    if content["format"] != FORMAT:
        raise InputError(
            f"{file} has the format {content['format']!r}, this graphveil reads {FORMAT}: {AGAIN} of the same version"
        )
    content.pop("cut", None)
    try:
        return Manifest.model_validate_json(json.dumps(content))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"])) or "numbers"
        raise InputError(f"{file} is damaged ({place}: {problem['msg']}): {AGAIN}") from None


def part_folder(folder: Path, partition: int) -> Path:
    """The public tables of a partition."""
    return folder / f"part-{partition:04d}"


def simulated_file(folder: Path, partition: int) -> Path:
    """Return the file of what the users of a partition hold."""
    return folder / SIMULATED / f"part-{partition:04d}.parquet"


def sharded_files(folder: Path) -> list[Path]:
    """The files of a sharded graph that numbers come from, in order: the manifest, all tables, and what users hold, or, where the
    folder does not have that, what they have answered."""
    tables = [*folder.glob(f"part-*/{USERS}"), *folder.glob(f"part-*/{EDGES}")]
    own = f"{SIMULATED}/part-*.parquet" if (folder / SIMULATED).is_dir() else f"{REPORTS}/*/*.*"
    return [folder / MANIFEST, *sorted([*tables, *folder.glob(own)])]


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder to write into, in which nothing is; what was written is gone again if it does not come to its end."""
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            if _was_cut_short(out):
                raise InputError(
                    f"{out} holds a sharded graph that was not written to its end: delete it, and give the same command again"
                )
            raise InputError(f"{out} is there already and holds something: name a new folder, or delete it")
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out} cannot be made ({error.strerror}): name another folder") from None
    try:
        yield out
    except BaseException:
        # First of all it is no sharded graph any more, whatever else may still be removed.
        with suppress(OSError):
            (out / MANIFEST).unlink()
        shutil.rmtree(out, ignore_errors=True)
        raise


def _was_cut_short(out: Path) -> bool:
    """Return whether a folder was left by a command that was killed while it wrote a sharded graph.

    Then all that it holds belongs to such a graph, but it has no manifest.
    """
    return out.is_dir() and all(
        each.name == SIMULATED or each.name in LEFT or each.match("part-[0-9][0-9][0-9][0-9]*")
        for each in out.iterdir()
    )
