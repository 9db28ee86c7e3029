from graphveil.audit.versions import BUDGETS, CALLS, DIMS, EPSILONS, LARGEST_CALL, LARGEST_DIMS, AuditSchedule
from graphveil.channels import SeededWords


def test_a_full_schedule_has_all_landmarks_and_others_that_nobody_knows():
    one, other = (AuditSchedule.of(False, SeededWords(seed)) for seed in (1, 2))
    assert set(DIMS) < set(one.dims) and set(EPSILONS) < set(one.epsilons) and set(CALLS) < set(one.calls)
    assert one.dims != other.dims and one.calls != other.calls and one.mixed != other.mixed
    assert (one.dims[0], one.dims[-1]) == (1, LARGEST_DIMS)
    assert (one.epsilons[0], one.epsilons[-1]) == BUDGETS
    assert one.calls[0] == 1 and one.calls[-1] >= LARGEST_CALL


def test_a_quick_schedule_is_smaller_and_says_so():
    quick, full = (AuditSchedule.of(quick, SeededWords(1)) for quick in (True, False))
    assert quick.quick and not full.quick
    assert len(quick.dims) < len(full.dims) / 2 and quick.calls[-1] < full.calls[-1]
