import pytest

from graphveil.audit.behaviour import check_answered
from graphveil.audit.candidate import Candidate
from graphveil.audit.findings import Deadline, within
from graphveil.audit.reports import Version, public_range
from graphveil.audit.versions import (
    BUDGETS,
    CALLS,
    DIMS,
    EPSILONS,
    LARGEST_CALL,
    LARGEST_DIMS,
    AuditSchedule,
    check_paths,
    larger_budgets,
    size_setting,
    sizes,
    users_affordable,
    users_needed,
    versions_step,
)
from graphveil.channels import SeededBits
from graphveil.mechanisms import entry, mechanism, names
from graphveil.privacy import Plan


def test_time_that_is_over_leaves_what_was_seen():
    class Clock:
        now = 0.0

        def __call__(self):
            self.now += 1.0
            return self.now

    candidate, random_bits = Candidate.of("krr"), SeededBits(1)
    with within(Deadline(100.0, Clock())):
        version = Version(candidate.build(), random_bits=random_bits)
        step, _ = versions_step(candidate, version, AuditSchedule.of(True, random_bits))
    assert step.unfinished and step.leaks == ()
    assert "2 classes" in step.seen


def test_rare_noise_is_drawn_until_it_shows_as_far_as_that_can_be():
    for epsilon, shows in ((12.0, True), (20.0, False)):
        built = mechanism("krr", epsilon=epsilon, classes=7)
        assert (users_needed(built) <= users_affordable(built, quick=False)) is shows


FULL = AuditSchedule.of(False, SeededBits(1))


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


def test_a_full_schedule_has_all_landmarks_and_others_that_nobody_knows():
    one, other = (AuditSchedule.of(False, SeededBits(seed)) for seed in (1, 2))
    assert set(DIMS) < set(one.dims) and set(EPSILONS) < set(one.epsilons) and set(CALLS) < set(one.calls)
    assert one.dims != other.dims and one.calls != other.calls and one.mixed != other.mixed
    assert (one.dims[0], one.dims[-1]) == (1, LARGEST_DIMS)
    assert (one.epsilons[0], one.epsilons[-1]) == BUDGETS
    assert one.calls[0] == 1 and one.calls[-1] >= LARGEST_CALL


def test_a_quick_schedule_is_smaller_and_says_so():
    quick, full = (AuditSchedule.of(quick, SeededBits(1)) for quick in (True, False))
    assert quick.quick and not full.quick
    assert len(quick.dims) < len(full.dims) / 2 and quick.calls[-1] < full.calls[-1]


@pytest.mark.parametrize("name", names())
def test_every_mechanism_takes_every_path_and_answers_alike(name):
    candidate = Candidate.of(name, 1.0)
    built, refused = candidate.build(), []
    check_paths(Version(built, public_range(candidate, built)), refused)
    assert refused == []


# The suite of sound mechanisms has this check for all others.
@pytest.mark.parametrize("name", [name for name in names() if not entry(name).sound])
def test_an_unsound_mechanism_answers_everything_in_silence(name):
    candidate = Candidate.of(name, 1.0)
    built = candidate.build()
    check_answered(Version(built, public_range(candidate, built)))


def test_a_range_without_integers_is_tried_with_other_types():
    built = mechanism("multibit", epsilon=1.0, dims=4, range=(0.25, 0.75))
    refused = []
    check_paths(Version(built, built.public), refused)
    assert refused == []
