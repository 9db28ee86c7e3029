import pytest

from graphveil.audit.behaviour import everything_answered
from graphveil.audit.candidate import Candidate
from graphveil.audit.inputs import public_range
from graphveil.audit.versions import same_by_every_path
from graphveil.mechanisms import mechanism, names


@pytest.mark.parametrize("name", names())
def test_every_mechanism_takes_every_path_and_answers_alike(name):
    candidate = Candidate.of(name, 1.0)
    built = candidate.build()
    assert same_by_every_path(built, public_range(candidate, built)) == ([], [])


@pytest.mark.parametrize("name", names())
def test_every_mechanism_answers_everything_in_silence(name):
    candidate = Candidate.of(name, 1.0)
    built = candidate.build()
    assert everything_answered(built, public_range(candidate, built)) == []


def test_a_range_without_integers_is_tried_with_other_types():
    built = mechanism("multibit", epsilon=1.0, dims=4, range=(0.25, 0.75))
    assert same_by_every_path(built, built.public) == ([], [])
