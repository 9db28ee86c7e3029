"""Large graphs are sharded in the memory that was allowed."""

import subprocess
import sys

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from graphveil.graphs import Town, symmetric_csr
from graphveil.scale import open_shards

CODE = """
import resource, sys
from graphveil.cli import status
ended = status(sys.argv[1:])
print(ended, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""
USERS = 1_000_000


def peak(words):
    """The most memory that a command took, in gigabytes; it must end well."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *words.split()], capture_output=True, text=True, check=True
    )
    ended, gigabytes = done.stdout.split()[-2:]
    assert ended == "0", done.stderr
    return float(gigabytes)


@pytest.fixture(scope="module")
def links():
    edges, _, _ = Town(users=USERS, features=1, telling=1).generate()
    random = np.random.default_rng(0)
    return random.permutation(USERS).astype(np.int32)[edges][random.permutation(len(edges))]


def test_a_table_of_ten_million_links_is_sorted_in_little_memory(links, tmp_path, shows):
    """Python and its libraries take 0.2 GB, a million users 0.1 GB, links 0.1 GB as told, a block and a row group 0.1 GB each."""
    parquet.write_table(
        pyarrow.table({"source": links[:, 0], "target": links[:, 1]}), tmp_path / "links.parquet"
    )
    words = f"graph shard {tmp_path}/links.parquet --out {tmp_path}/shards --partitions 8 --max-memory 0.1"
    gigabytes = peak(words)
    shows(f"{gigabytes:.2f} GB, less than 0.6")
    assert gigabytes < 0.6
    shards = open_shards(tmp_path / "shards")
    indptr, indices = symmetric_csr(links, USERS)
    table = shards.table(0, 8)
    assert np.array_equal(np.diff(table.indptr), np.diff(indptr)[table.original])
    sources = np.repeat(table.original, np.diff(table.indptr))
    targets = table.original[shards.edges(0, 8)]
    order = np.lexsort((targets, sources))
    assert np.array_equal(targets[order], indices)
    assert shards.manifest.cut < 0.15


def test_a_town_takes_what_its_largest_partition_takes(tmp_path, shows):
    """Both towns have partitions of 250,000 users."""
    small = peak(f"graph town --out {tmp_path}/small --users 250000 --partitions 1")
    large = peak(f"graph town --out {tmp_path}/large --users 1500000 --partitions 6")
    shows(f"{small:.2f} GB for one partition, {large:.2f} GB for six of its size")
    assert large < 1.3 * small
