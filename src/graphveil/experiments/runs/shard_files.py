"""Predictions and embeddings of a sharded graph, as Parquet files by partition."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from graphveil.engine.shard_users import ShardUsers
from graphveil.errors import InputError
from graphveil.graphs.part import GraphPart
from graphveil.graphs.tables import Column, Lists, write_table
from graphveil.methods.outcome import Outcome

# Written last: a folder without it is not complete.
RECORD = "record.json"
Kind = Literal["predictions", "embeddings"]


@dataclass(frozen=True)
class RowFiles:
    """A folder for rows of one kind, with a file a partition."""

    folder: Path
    kind: Kind

    def begin(self) -> None:
        """Make the folder, so that one which cannot be written is told of before anything is learned; nothing is written over.

        A folder that is empty, or holds files of partitions without the record that is written last, was left by an interrupt: it is
        filled anew.
        """
        if self.folder.exists() and not self._was_interrupted():
            raise InputError(
                f"{self.folder} is there already: name a new folder, into which a file goes for each partition"
            )
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.folder} cannot be made ({error.strerror}): name another folder"
            ) from None

    def _was_interrupted(self) -> bool:
        return self.folder.is_dir() and all(
            each.match("part-[0-9][0-9][0-9][0-9]*") for each in self.folder.iterdir()
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
