"""The collector under load: 100,000 uploads through ten kills, and a million fuzzed requests."""

import pytest

from tests.collect.campaign import run_campaign
from tests.collect.conftest import database, postgresql
from tests.collect.described import described_requests
from tests.collect.fuzzing import fuzz_for
from tests.collect.test_forgetting import check_forgotten

__all__ = ["database", "postgresql"]
# The collector may grow by so much while it is fuzzed: caches fill, and fragments remain.
MOST_MEGABYTES = 30


def test_a_hundred_thousand_uploads_and_ten_kills(tmp_path, database, shows):
    seen = run_campaign(
        tmp_path / "c",
        database,
        users=85_000,
        duplicates=10_000,
        damaged=5_000,
        connections=64,
        kills=10,
        fork=False,
    )
    shows(seen)
    assert seen.broken > 0


@pytest.mark.parametrize("requests", [1_000_000])
def test_a_million_fuzzed_requests_find_no_fault_and_no_leak(tmp_path, requests, shows):
    seen = fuzz_for(tmp_path / "c", requests, log=str(tmp_path / "log"))
    shows(f"{requests} requests, {len(seen.faults)} faults, megabytes {seen.megabytes}")
    assert not seen.faults
    assert "Traceback" not in (tmp_path / "log").read_text()
    # It has allocated what it keeps after the first tenth.
    assert seen.megabytes[requests] - seen.megabytes[requests // 10] < MOST_MEGABYTES


def test_what_the_description_allows_is_never_a_fault_however_often(tmp_path, shows):
    tried = described_requests(tmp_path / "c", 2000)
    shows(*(f"{status}: {count}" for status, count in sorted(tried.items())))
    assert tried.total() > 5000


def test_nothing_of_whoever_was_forgotten_is_left_in_the_files_a_hundred_times():
    for seed in range(100):
        check_forgotten(1000 + seed)
