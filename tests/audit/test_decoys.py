import runpy
from pathlib import Path

import pytest

from graphveil.audit.candidate import claims_independence, has_decoys
from graphveil.audit.control import sighted_decoys
from graphveil.channels import SeededWords
from graphveil.mechanisms import PublicRange, mechanism

FAULTS = Path(__file__).parent.parent / "faults"
UNIT, VALUES = PublicRange(0, 1), 1 << 17


def _made(fault, name):
    return runpy.run_path(str(FAULTS / f"{fault}.py"))[name](epsilon=1.0, dims=6, range=(0, 1))


def test_only_answers_that_somebody_else_calls_blind_are_decoys():
    blind = mechanism("onebit", epsilon=1.0, dims=4, range=(0, 1)).blind()
    assert not has_decoys(blind) and claims_independence(blind)
    decoyed = _made("decoys_in_name_only", "sound")
    assert has_decoys(decoyed) and not claims_independence(decoyed)


@pytest.mark.statistical  # a false alarm in a hundred million; the seed is fixed
@pytest.mark.parametrize("fault", ["decoys_in_name_only", "decoys_sighted", "padding_from_others"])
def test_blind_decoys_pass(fault):
    sound = _made(fault, "sound")
    assert sighted_decoys(sound, UNIT, VALUES, SeededWords(1)) == []


def test_decoys_that_are_answers_give_a_code_too_often():
    faulty = _made("decoys_in_name_only", "build")
    (leak,) = sighted_decoys(faulty, UNIT, VALUES, SeededWords(1))
    assert "decoys are not blind" in leak


def test_decoys_that_tell_something_together_are_found():
    faulty = _made("decoys_of_one_coin", "build")
    (leak,) = sighted_decoys(faulty, UNIT, VALUES, SeededWords(1))
    assert "tell more together" in leak
