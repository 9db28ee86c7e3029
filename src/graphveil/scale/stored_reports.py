"""Reports beside a sharded graph: what users have answered to a plan, a file for each partition.

    reports/NAME/plan.json            the plan, its digest, how many were asked and have answered; written last
    reports/NAME/part-0000.parquet    a row for each user of the partition whom the plan asks, in shard order:
                                      user (shard number), answered, codes, and dims where dimensions are named

NAME is how the plan's digest begins. A plan names users by their original numbers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.sampling import code_type
from graphveil.checks import check_whole
from graphveil.errors import InputError, MessageError
from graphveil.files import read_json
from graphveil.graphs.tables import Column, Lists, TableFile, write_table
from graphveil.mechanisms import Mechanism, Reports
from graphveil.mechanisms.reports import row_pointers
from graphveil.privacy import Plan
from graphveil.privacy.plan import plan_digest
from graphveil.scale.manifest import REPORTS, USERS, Manifest, part_folder

# Digits of a digest that name a folder.
DIGITS = 16
PLAN = "plan.json"
ANEW = "export the collection again, or ask the plan again"


@dataclass(frozen=True, eq=False)
class PartReports:
    """The answers of one partition.

    ``users`` are the shard numbers of those who were asked, ascending; ``reports`` has them in that order,
    with those who have not answered marked.
    """

    users: NDArray[np.int64]
    reports: Reports


@dataclass(frozen=True)
class StoredReports:
    """All answers to a plan that are kept, read one partition at a time."""

    folder: Path
    plan: Plan
    manifest: Manifest
    asked: int
    answered: int

    def partition(self, partition: int, original: NDArray[np.int64] | None = None) -> PartReports:
        """The answers of one partition. ``original`` are the numbers of its users (`PartTable.original`), read where they are not given."""
        check_whole(partition, "partition", least=0, most=len(self.manifest.partitions) - 1)
        facts = self.manifest.partitions[partition]
        table = TableFile(_part(self.folder, partition), ANEW)
        named = self.plan.build().shape.names_dimensions
        columns = table.read(["user", "answered", "codes", *(["dims"] if named else [])])
        users = table.checked_array(columns["user"], np.int32, "user").astype(np.int64)
        answered = table.checked_array(columns["answered"], np.bool_, "answered")
        own = users - facts.first
        if own.size and (not 0 <= int(own[0]) <= int(own[-1]) < facts.users or (np.diff(own) <= 0).any()):
            raise InputError(f"{table.file} is damaged: its users are not those of the partition; {ANEW}")
        if original is None:
            place = part_folder(self.folder.parent.parent, partition) / USERS
            original = TableFile(place, ANEW).array("original", np.int64)
        mechanism = mechanism_of(self.plan, original[own])
        pointers, codes = table.checked_lists(columns["codes"], code_type(mechanism.shape.alphabet), "codes")
        dims: NDArray[np.int32] | None = None
        if named:
            others, dims = table.checked_lists(columns["dims"], np.int32, "dims")
        lengths = np.diff(pointers)
        if lengths[~answered].any() or (named and not np.array_equal(others, pointers)):
            raise InputError(f"{table.file} is damaged: its columns do not fit each other; {ANEW}")
        silent = None if answered.all() else answered
        reports = Reports(mechanism, row_pointers(lengths[answered]), dims, codes, silent)
        try:
            reports.check()
        except MessageError as error:
            raise MessageError(f"{table.file} is damaged: {error.as_written}; {ANEW}") from None
        return PartReports(users, reports)


def find_reports(folder: Path, manifest: Manifest, plan: Plan) -> StoredReports | None:
    """Return the answers to a plan that a folder keeps; None where it keeps none."""
    digest = plan_digest(plan)
    place = folder / REPORTS / digest[:DIGITS]
    if not (place / PLAN).is_file():
        return None
    known, asked, answered = kept_plan(place / PLAN)
    if known != digest:
        raise InputError(f"{place} holds answers to another plan, {known}: {ANEW}")
    return StoredReports(place, plan, manifest, asked, answered)


def kept_plan(file: Path) -> tuple[str, int, int]:
    """The digest of a plan that was asked, how many it asks, and how many of them have answered."""
    told = read_json(file, ANEW)
    try:
        return (
            str(told["digest"]),
            check_whole(told["asked"], "asked", least=0),
            check_whole(told["answered"], "answered", least=0),
        )
    except (InputError, KeyError, TypeError):
        raise InputError(f"{file} is damaged: {ANEW}") from None


def write_part_reports(folder: Path, plan: Plan, partition: int, part: PartReports) -> None:
    """Write the answers of one partition; they count once `finish_reports` is called.

    Parameters
    ----------
    folder
        The folder of the sharded graph.
    plan
        The plan that was asked.
    partition
        The number of the partition.
    part
        Its answers.
    """
    _check_kept(plan)
    reports = part.reports
    lengths = np.zeros(reports.asked, dtype=np.int64)
    lengths[reports.places] = reports.lengths
    answered = np.ones(reports.asked, dtype=bool) if reports.answered is None else reports.answered
    pointers = row_pointers(lengths)
    columns: dict[str, Column] = {
        "user": part.users.astype(np.int32),
        "answered": answered,
        "codes": Lists(reports.codes, pointers=pointers),
    }
    if reports.dims is not None:
        columns["dims"] = Lists(reports.dims, pointers=pointers)
    write_table(_part(_place(folder, plan), partition), columns)


def finish_reports(folder: Path, plan: Plan, asked: int, answered: int) -> None:
    """Write the plan, once the answers of all partitions are there.

    Parameters
    ----------
    folder
        The folder of the sharded graph.
    plan
        The plan that was asked.
    asked, answered
        The numbers of users asked, and of those who have answered.
    """
    told: dict[str, Any] = {"digest": plan_digest(plan), "asked": asked, "answered": answered}
    place = _place(folder, plan)
    part = place / f".{PLAN}.part"
    part.write_text(json.dumps({**told, "plan": json.loads(plan.to_json())}) + "\n", encoding="utf-8")
    part.replace(place / PLAN)


def write_reports(
    folder: Path, manifest: Manifest, plan: Plan, reports: Reports, number: NDArray[np.int32]
) -> None:
    """Write answers that are in memory.

    Parameters
    ----------
    folder
        The folder of the sharded graph.
    manifest
        Its manifest.
    plan
        The plan that was asked.
    reports
        The answers, in the plan's order.
    number
        The shard number of each original user, (users,) int32.
    """
    _check_kept(plan)
    named = np.arange(reports.asked) if plan.users == "all" else np.array(plan.users, dtype=np.int64)
    shard = number[named].astype(np.int64)
    order = np.argsort(shard)
    ends = np.searchsorted(shard[order], [part.end for part in manifest.partitions])
    begin = 0
    for partition, end in enumerate(ends):
        chosen = order[begin : int(end)]
        own = replace(reports.of_asked(chosen), mechanism=mechanism_of(plan, named[chosen]))
        write_part_reports(folder, plan, partition, PartReports(shard[chosen], own))
        begin = int(end)
    finish_reports(folder, plan, reports.asked, reports.users)


def mechanism_of(plan: Plan, users: NDArray[np.int64]) -> Mechanism:
    """Return the mechanism of a plan for these users, given by original numbers in the order of the part."""
    mechanism = plan.build()
    if plan.of != "class" or not users.size:
        return mechanism
    asked = np.array(plan.users, dtype=np.int64)
    order = np.argsort(asked)
    return mechanism.of_users(order[np.searchsorted(asked, users, sorter=order)])


def _check_kept(plan: Plan) -> None:
    if plan.subject == "links":
        raise InputError(
            "reports of links name users by their original numbers, and a sharded graph numbers them anew: links of a sharded "
            "graph are public, keep such reports elsewhere"
        )


def _place(folder: Path, plan: Plan) -> Path:
    return folder / REPORTS / plan_digest(plan)[:DIGITS]


def _part(place: Path, partition: int) -> Path:
    return place / f"part-{partition:04d}.parquet"
