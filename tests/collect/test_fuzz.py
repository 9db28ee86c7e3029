"""Requests of all kinds: what the description allows, by schemathesis, and what nothing allows."""

from tests.collect.described import described_requests
from tests.collect.fuzz import Fuzzer, prepare_fuzzing
from tests.collect.fuzzing import fuzz_for


def test_what_the_description_allows_is_never_a_fault(tmp_path):
    assert {method for method, _ in described_requests(tmp_path / "c", 8)} == {"GET", "POST", "PUT", "DELETE"}


def test_mutated_requests_are_never_a_fault(tmp_path):
    seen = fuzz_for(tmp_path / "c", 2000, users=20, fork=True)
    assert not seen.faults
    # Two of them may come at once; none but what was still being sent when it was refused is left without an answer.
    assert seen.statuses.total() + seen.closed + seen.unanswered >= 2000
    assert seen.closed <= 20
    # They get far: some are stored, once and again, and some are refused for each reason that there is.
    assert {200, 201, 400, 401, 403, 404, 405, 409, 410, 413, 422} <= set(seen.statuses)


def test_the_same_seed_makes_the_same_requests(tmp_path):
    held = prepare_fuzzing(tmp_path / "c", 15)
    one, same, other = (Fuzzer(held, seed) for seed in (1, 1, 2))
    made = [each.request() for each in (one, same, other) for _ in range(200)]
    assert made[:200] == made[200:400] != made[400:]
