"""Processes, Ray, and sharded graphs: where experiments are computed, and graphs that nobody has to hold as a whole.

A module is loaded when one of its names is first used.
"""

# ruff: noqa: F401
from typing import TYPE_CHECKING

from graphveil.lazy import lazy_names

if TYPE_CHECKING:
    from graphveil.scale.manifest import Manifest, Partition, read_manifest, sharded_files
    from graphveil.scale.partitioners import check_partitions
    from graphveil.scale.ray_pool import open_ray_pool
    from graphveil.scale.ray_session import kept_open
    from graphveil.scale.shard_learning import RECORD, RowFiles, RowKind
    from graphveil.scale.shard_reader import PartTable, Shards, facts, load_whole, open_shards, too_large
    from graphveil.scale.shard_writer import write_shards
    from graphveil.scale.sharded_town import write_town
    from graphveil.scale.sharding import shard_files
    from graphveil.scale.stored_reports import (
        PartReports,
        StoredReports,
        finish_reports,
        write_part_reports,
        write_reports,
    )
    from graphveil.scale.units import compute_in_parts
else:
    __getattr__, __dir__ = lazy_names(__name__, __file__)
