"""Predictions and embeddings of a sharded graph, as Parquet files by partition."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from graphveil.engine.shard_users import ShardUsers
from graphveil.errors import InputError
from graphveil.graphs.part import GraphPart
from graphveil.graphs.shards.tables import Column, Lists, write_table
from graphveil.methods.outcome import Outcome

Kind = Literal["predictions", "embeddings"]


@dataclass(frozen=True)
class RowFiles:
    """A folder for rows of one kind, with a file a partition."""

    folder: Path
    kind: Kind

    def check(self) -> None:
        """Refuse a folder that is there: nothing is written over."""
        if self.folder.exists():
            raise InputError(
                f"{self.folder} is there already: name a new folder, into which a file goes for each partition"
            )

    def write(self, part: GraphPart, users: ShardUsers, outcome: Outcome) -> None:
        """Write the rows of a worker's partitions: ``original``, ``id`` where users have one, and what was learned of each."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for partition, (begin, end) in zip(users.partitions, users.places, strict=True):
            told: dict[str, Column] = {"original": part.original[begin:end]}
            if part.ids is not None:
                told["id"] = part.ids[begin:end]
            told |= self._columns(outcome, begin, end)
            write_table(self.folder / f"part-{partition:04d}.parquet", told)

    def _columns(self, outcome: Outcome, begin: int, end: int) -> dict[str, Column]:
        if self.kind == "embeddings":
            if outcome.embedding is None:
                raise InputError("this method has no embedding: take another one, like base")
            rows = np.ascontiguousarray(outcome.embedding[begin:end])
            return {"embedding": Lists(rows.reshape(-1), rows.shape[1])}
        assert outcome.scores is not None
        scores = outcome.scores[begin:end]
        chances = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float32)
        chances /= chances.sum(axis=1, keepdims=True)
        return {
            "class": scores.argmax(axis=1).astype(np.int32),
            "probabilities": Lists(chances.reshape(-1), chances.shape[1]),
        }
