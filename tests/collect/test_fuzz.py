"""Requests of all kinds: what the description allows, by schemathesis, and what nothing allows."""

import warnings

import pytest
from hypothesis import HealthCheck, given, settings

from graphveil.collect.pace import Pace
from graphveil.collect.service import create_app
from tests.collect.fuzz import fuzz_for
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
    seen = fuzz_for(tmp_path / "c", 400, users=20, fork=True)
    assert sum(seen.statuses.values()) >= 400
    assert not [status for status in seen.statuses if status >= 500]
    # They get far: some are stored, and some are refused for what they say.
    assert {201, 401, 404, 413, 422} <= set(seen.statuses)
