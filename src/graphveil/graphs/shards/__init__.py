"""Sharded graphs: a folder of Parquet files, one partition after the other, so that nobody has to hold the whole graph."""

from graphveil.graphs.shards.facts import facts
from graphveil.graphs.shards.files import shard_files
from graphveil.graphs.shards.manifest import Manifest, Partition, is_sharded
from graphveil.graphs.shards.reader import PartTable, Shards, open_shards
from graphveil.graphs.shards.sharded_town import write_town
from graphveil.graphs.shards.stored_reports import (
    PartReports,
    StoredReports,
    finish_reports,
    write_part_reports,
)
from graphveil.graphs.shards.whole import load_whole
from graphveil.graphs.shards.writer import write_shards

__all__ = [
    "Manifest",
    "PartReports",
    "PartTable",
    "Partition",
    "Shards",
    "StoredReports",
    "facts",
    "finish_reports",
    "is_sharded",
    "load_whole",
    "open_shards",
    "shard_files",
    "write_part_reports",
    "write_shards",
    "write_town",
]
