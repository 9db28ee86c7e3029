"""docs/shards.md says what is written: its tables have the columns of the files, and its fields those of the manifest."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from graphveil import Plan
from graphveil.graphs import from_arrays
from graphveil.scale import write_shards
from graphveil.scale.stored_reports import write_reports

PAGE = (Path(__file__).parents[2] / "docs/shards.md").read_text()


def table_below(heading: str) -> dict[str, str]:
    """The first two columns of the table below a heading; several names of one line are lines of their own."""
    lines = PAGE[PAGE.index(heading) :].splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("| ---"))
    found = {}
    for line in lines[begin + 1 :]:
        if not line.startswith("|"):
            break
        names, kind = line.split("|")[1:3]
        found |= dict.fromkeys(re.findall(r"`(\w+)`", names), kind.strip())
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("page") / "shards"
    rows = np.array([[0, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 1]])
    graph, users = from_arrays(
        np.array([[0, 1], [1, 2], [2, 3]]),
        rows,
        np.array([0, 1, 2, 3]),
        range=(0, 1),
        ids=np.array(list("abcd")),
        feature_names=["x", "y", "z"],
    )
    shards = write_shards(graph, out, partitions=1, users=users)
    plan = Plan(mechanism="multibit", epsilon=1.0, dims=3, range=(0, 1), sampled=1)
    reports = users.declare(1.0, seed=0).report(plan)
    write_reports(out, shards.manifest, plan, reports, np.arange(4, dtype=np.int32))
    return out


def written(file: Path) -> dict[str, str]:
    return {field.name: str(field.type) for field in parquet.read_schema(file)}


def test_fields_of_the_manifest_and_columns_of_what_users_hold_and_of_reports_are_those_of_the_page(folder):
    assert set(json.loads((folder / "graph.json").read_text())) == set(table_below("**`graph.json`**"))
    told = table_below("**`users/part-0000.parquet`**")
    assert list(written(folder / "users/part-0000.parquet")) == ["label", "row"]
    assert list(told) == ["label", "row", "indices", "values"]
    (file,) = folder.glob("reports/*/part-0000.parquet")
    assert set(written(file)) == set(table_below("**`reports/NAME/`**"))
    (plan,) = folder.glob("reports/*/plan.json")
    assert set(json.loads(plan.read_text())) == {"digest", "asked", "answered", "plan"}


@pytest.mark.parametrize("name", ["users", "edges"])
def test_public_columns_have_the_names_and_types_of_the_page(folder, name):
    told = table_below(f"**`part-0000/{name}.parquet`**")
    found = written(folder / f"part-0000/{name}.parquet")
    assert list(told) == list(found)
    assert all(found[column] in kind.split(" or ") for column, kind in told.items())
