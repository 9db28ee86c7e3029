"""Faults that show only at some sizes: the look at that size finds each, and a full audit looks there.

A fault of tests/faults names the ``SIZE`` that it shows at, or the ``CALLS`` (numbers of users) that show it. Whole audits of
them are in tests/slow.
"""

import runpy
from dataclasses import replace

import pytest

from graphveil.audit.candidate import Candidate, load_mechanism
from graphveil.audit.findings import BrokenError, leaks_of
from graphveil.audit.many_users import walk_calls, walked_candidate, walked_row
from graphveil.audit.reports import Version, public_range
from graphveil.audit.versions import CALLS, DIMS, EPSILONS, QUICK_CALLS, SAMPLED, AuditSchedule, check_version
from graphveil.channels import SeededBits
from tests.audit.test_faults import ALL, of_size

SIZED = [path for path in ALL if of_size(path)]


@pytest.mark.parametrize("path", SIZED, ids=lambda path: path.stem)
def test_the_look_at_its_size_finds_the_fault(path):
    fault, random_bits = runpy.run_path(str(path)), SeededBits(1)
    candidate = Candidate.of(load_mechanism(f"{path}:build"), 1.0)
    if "SIZE" in fault:
        built = candidate.build(**fault["SIZE"])
        epsilon = fault["SIZE"].get("epsilon", 1.0)
        version = Version(built, public_range(candidate, built), random_bits)
        leaks = leaks_of(check_version, version, epsilon, False, kind=BrokenError)
    else:
        built = walked_candidate(candidate)
        version = Version(built, public_range(candidate, built), random_bits)
        schedule = replace(AuditSchedule.of(False, random_bits), calls=fault["CALLS"])
        leaks = walk_calls(version, walked_row(version), schedule).leaks
    assert leaks and fault["CAUSE"] in leaks[0], leaks


def test_a_full_audit_looks_there():
    missed = []
    for path in SIZED:
        fault = runpy.run_path(str(path))
        size = fault.get("SIZE", {})
        looks = [set(fault.get("CALLS", ())) <= {*CALLS, *QUICK_CALLS}]
        if "sampled" in size:
            looks.append((size["dims"], size["sampled"]) in SAMPLED)
        else:
            looks.append({size[key] for key in ("dims", "classes") if key in size} <= set(DIMS))
        looks.append({size[key] for key in ("epsilon",) if key in size} <= set(EPSILONS))
        if not all(looks):
            missed.append(path.stem)
    assert missed == []
