"""What is said of a sharded graph: its manifest, and what follows from its files."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphveil.graphs.shards.manifest import AGAIN, REPORTS, USERS, part_folder
from graphveil.graphs.shards.reader import TEST, TRAIN, VALIDATION, Shards, check_split
from graphveil.graphs.shards.stored_reports import PLAN, kept_plan
from graphveil.graphs.tables import TableFile


def facts(shards: Shards) -> dict[str, Any]:
    """All that is known of a sharded graph, as JSON has it. Of users only the split is read."""
    manifest = shards.manifest
    counts = np.zeros(TEST + 1, dtype=np.int64)
    for partition in range(shards.partition_count):
        table = TableFile(part_folder(shards.path, partition) / USERS, AGAIN)
        split = table.array("split", np.int8)
        check_split(split, table.file)
        counts += np.bincount(split, minlength=TEST + 1)
    mean = manifest.users / shards.partition_count
    largest = max(part.users for part in manifest.partitions)
    return {
        **manifest.model_dump(mode="json"),
        "path": str(shards.path),
        "links": manifest.entries // 2,
        "cut": manifest.cut,
        "balance": largest / mean if mean else 1.0,
        "split": {
            "train": int(counts[TRAIN]),
            "validation": int(counts[VALIDATION]),
            "test": int(counts[TEST]),
        },
        "simulated": shards.simulated,
        "reports": _reports(shards),
        "bytes": sum(file.stat().st_size for file in shards.path.rglob("*") if file.is_file()),
    }


def _reports(shards: Shards) -> list[dict[str, Any]]:
    """The plans whose answers are kept, by the beginnings of their digests."""
    kept = []
    for file in sorted((shards.path / REPORTS).glob(f"*/{PLAN}")):
        _, asked, answered = kept_plan(file)
        kept.append({"plan": file.parent.name, "asked": asked, "answered": answered})
    return kept
