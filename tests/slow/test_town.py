import resource
import time

from graphveil.graphs import load


def test_a_town_of_a_million_users_is_generated_in_a_minute():
    start = time.process_time()
    graph, users = load("town", users=1_000_000, features=64, degree=20)
    assert time.process_time() - start < 60
    assert (len(users), graph.feature_count) == (1_000_000, 64)
    assert abs(graph.edge_count - 10_000_000) < 50_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 << 20
