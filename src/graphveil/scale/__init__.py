"""Processes, Ray, and sharded graphs: where experiments are computed, and graphs that nobody has to hold as a whole.

A module is loaded when one of its names is first used.
"""

# ruff: noqa: I001 -- names that are exported stand with their modules
from typing import TYPE_CHECKING

from graphveil.lazy import lazy_names

if TYPE_CHECKING:
    from graphveil.scale.manifest import (
        Manifest as Manifest,
        Partition as Partition,
        read_manifest as read_manifest,
        sharded_files as sharded_files,
    )
    from graphveil.scale.partitioners import check_partitions as check_partitions
    from graphveil.scale.ray_pool import open_ray_pool as open_ray_pool
    from graphveil.scale.ray_session import kept_open as kept_open
    from graphveil.scale.sharding import shard_files as shard_files
    from graphveil.scale.shard_learning import (
        RECORD as RECORD,
        RowFiles as RowFiles,
        RowKind as RowKind,
    )
    from graphveil.scale.shard_reader import (
        PartTable as PartTable,
        Shards as Shards,
        facts as facts,
        load_whole as load_whole,
        open_shards as open_shards,
        too_large as too_large,
    )
    from graphveil.scale.shard_writer import write_shards as write_shards
    from graphveil.scale.sharded_town import write_town as write_town
    from graphveil.scale.stored_reports import (
        PartReports as PartReports,
        StoredReports as StoredReports,
        finish_reports as finish_reports,
        write_part_reports as write_part_reports,
        write_reports as write_reports,
    )
    from graphveil.scale.units import compute_in_parts as compute_in_parts
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
