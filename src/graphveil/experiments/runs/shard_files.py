"""Predictions and embeddings of a sharded graph, as Parquet files by partition."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphveil.engine.shard_users import ShardUsers
from graphveil.graphs.part import GraphPart
from graphveil.graphs.shards import Shards
from graphveil.graphs.shards.tables import Column, Lists, write_table
from graphveil.methods.outcome import Outcome

PREDICTIONS, EMBEDDINGS = "predictions", "embeddings"


def write_rows(out: Path, shards: Shards, part: GraphPart, users: ShardUsers, outcome: Outcome) -> None:
    """Write the rows of a worker's partitions: ``original`` and, where users have one, ``id``; then the class, the chance of each
    class, or the embedding."""
    assert outcome.scores is not None
    for partition, (begin, end) in zip(users.partitions, users.places, strict=True):
        who: dict[str, Column] = {"original": part.original[begin:end]}
        if part.ids is not None:
            who["id"] = part.ids[begin:end]
        name = f"part-{partition:04d}.parquet"
        scores = outcome.scores[begin:end]
        chances = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float32)
        chances /= chances.sum(axis=1, keepdims=True)
        told: dict[str, Column] = {
            **who,
            "class": scores.argmax(axis=1).astype(np.int32),
            "probabilities": Lists(chances.reshape(-1), chances.shape[1]),
        }
        (out / PREDICTIONS).mkdir(parents=True, exist_ok=True)
        write_table(out / PREDICTIONS / name, told)
        if outcome.embedding is not None:
            rows = np.ascontiguousarray(outcome.embedding[begin:end])
            (out / EMBEDDINGS).mkdir(parents=True, exist_ok=True)
            write_table(out / EMBEDDINGS / name, {**who, "embedding": Lists(rows.reshape(-1), rows.shape[1])})
