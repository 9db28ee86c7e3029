"""Requests of all kinds: what the description allows, by schemathesis, and what nothing allows."""

import warnings

import pytest
from hypothesis import HealthCheck, given, settings

from graphveil.collect.pace import Pace
from graphveil.collect.service import create_app
from tests.collect.fuzz import Fuzzer, prepare_fuzzing
from tests.collect.fuzzing import fuzz_for
from tests.collect.small import PLAN, bearer, enrolled, later, made

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis


@pytest.fixture
def described(tmp_path):
    """The description of a collector that runs in this process, with the credentials of its devices."""
    collection = made(tmp_path / "c")
    credentials = enrolled(collection, volunteer=True)
    collection.publish(PLAN, later())
    app = create_app(collection, pace=Pace(a_second=1e6, at_once=10**6))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    schema.config.headers = bearer(credentials[0])
    yield schema
    collection.database.close()


def test_what_the_description_allows_is_never_a_fault(described):
    tried = []
    for found in described.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy())
        @settings(max_examples=8, suppress_health_check=list(HealthCheck))
        def check(case):
            if case.method == "DELETE":
                case.headers = {"Authorization": "Bearer nobody"}
            response = case.call()
            tried.append((case.method, response.status_code))
            assert response.status_code < 500

        check()
    assert {method for method, _ in tried} == {"GET", "POST", "PUT", "DELETE"}


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
