"""Requests that the description of the collector allows, made by schemathesis, to a collector that runs in this process."""

import warnings
from collections import Counter

from hypothesis import HealthCheck, given, settings

from graphveil.collect.app import create_app
from graphveil.collect.service import RateLimit
from tests.collect.small import PLAN, bearer, enrolled, later, made

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis


def described_requests(folder, examples):
    """So many requests of each call that there is; how often each method had each status, none of which is a fault."""
    collection = made(folder, private_links=True)
    credentials = enrolled(collection, volunteer=True)
    collection.publish(PLAN, later())
    app = create_app(collection, rate_limit=RateLimit(a_second=1e6, at_once=10**6))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    schema.config.headers = bearer(credentials[0])
    tried = Counter()
    for found in schema.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy())
        @settings(
            max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )
        def check(case):
            if case.method == "DELETE":
                case.headers = {"Authorization": "Bearer nobody"}
            response = case.call()
            tried[case.method, response.status_code] += 1
            assert response.status_code < 500

        check()
    collection.database.close()
    return tried
