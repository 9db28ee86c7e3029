from graphveil.audit.candidate import Candidate
from graphveil.audit.versions import AuditSchedule, larger_budgets, size_setting, sizes
from graphveil.channels import SeededWords
from graphveil.mechanisms import mechanism
from graphveil.privacy import Plan

FULL = AuditSchedule.of(False, SeededWords(1))


def test_sizes_go_up_to_4096_values_and_to_the_largest_budget():
    walked = list(sizes(Candidate.of("multibit"), FULL))
    assert {1, 60, 1000, 4096} <= {version.size for version in walked}
    assert any(version.title == "17 of 100 values" for version in walked)
    largest = max(version.epsilon for version in walked)
    assert largest > 100
    assert all(version.mechanism.claim.epsilon == version.epsilon for version in walked)


def test_labels_and_links_have_sizes_of_their_own():
    assert size_setting(Candidate.of("krr")) == "classes"
    titles = [version.title for version in sizes(Candidate.of("krr"), FULL)]
    assert "257 classes" in titles and "1 classes" not in titles
    assert any(version.title == "4,096 users" for version in sizes(Candidate.of("link-rr"), FULL))


def test_a_plan_a_built_mechanism_and_a_curator_have_no_other_size():
    plan = Plan(mechanism="onebit", epsilon=1.0, dims=5, range=(0, 1))
    for what in (plan, mechanism("krr", epsilon=1.0, classes=3), "lapgraph"):
        assert list(sizes(Candidate.of(what), FULL)) == []


def test_budgets_that_are_refused_end_the_walk():
    assert larger_budgets(Candidate.of("gaussian"), FULL) == []
    assert larger_budgets(Candidate.of("krr"), FULL)[-1] < 30
