import math
import runpy
from pathlib import Path

import numpy as np
import pytest

from graphveil.audit.answers import ReportRanges, check_decoys, shares_of
from graphveil.audit.candidate import claims_independence, has_decoys
from graphveil.audit.findings import LeakError
from graphveil.audit.reports import Version
from graphveil.channels import TOTAL, Channel, Claim, SeededBits
from graphveil.mechanisms import LevelMechanism, PublicRange, mechanism

LIMIT = math.log(1e-9)


def _hull(name="onebit", **settings):
    return ReportRanges.of(mechanism(name, epsilon=1.0, **settings))


def test_counts_within_the_table_are_left_alone():
    ranges = _hull(dims=2, range=(0, 1))
    assert ranges.outside(np.array([[500, 500], [600, 400]]), LIMIT) is None


def test_a_count_outside_the_table_is_named_with_place_and_code():
    found = _hull(dims=2, range=(0, 1)).outside(np.array([[500, 500], [900, 100]]), LIMIT)
    assert (found.place, found.clear) == (1, False)
    told = str(found.error("rows", several=True))
    assert told.endswith("whatever the value for value 1")
    assert "900 times in 1,000" in told or "100 times in 1,000" in told


def test_answers_that_never_vary_are_clear():
    assert _hull(dims=2, range=(0, 1)).outside(np.array([[0, 1000], [500, 500]]), LIMIT).clear


def test_rare_codes_count_together():
    # Forty codes of probability 10^-4 under both inputs: five of each in 10^4 draws say nothing, two hundred do.
    rare = np.full(40, TOTAL // 10_000)
    left = TOTAL - int(rare.sum())
    table = np.array([[left // 2, *rare, left - left // 2], [left // 3, *rare, left - left // 3]])
    channel = Channel("rare", table, np.arange(2.0), np.arange(42.0), Claim(1.0))
    ranges = ReportRanges.of(LevelMechanism("rare", Claim(1.0), channel, "level"))
    few = np.array([[4900, *np.full(40, 5), 4900]])
    assert ranges.outside(few, LIMIT).event == "one of 40 rare codes"
    assert ranges.outside(np.array([[4980, *np.full(40, 1), 4980]]), LIMIT) is None


@pytest.mark.statistical  # a false alarm in 10^9; the seed is fixed
@pytest.mark.parametrize(
    ("name", "settings", "private"),
    [
        ("piecewise", {"dims": 3, "range": (0, 1)}, np.full((4000, 3), 0.317)),
        ("item", {"dims": 6, "length": 2}, np.tile([1, 1, 1, 0, 0, 0], (4000, 1))),
        ("link-rr", {"dims": 6}, np.tile([1, 0, 1, 0, 0, 0], (4000, 1))),
        ("krr", {"classes": 4}, np.full(4000, -1)),
    ],
)
def test_right_answers_stay_inside(name, settings, private):
    ranges = _hull(name, **settings)
    assert ranges.outside(ranges.count(ranges.mechanism.randomize(private, SeededBits(1))), LIMIT) is None


def test_a_product_has_the_shares_of_its_rows():
    channel = mechanism("ome", epsilon=1.0, dims=1, range=(0, 1), bits=3).channels[0]
    rows = [[count / channel.total for count in channel.row(symbol)] for symbol in range(8)]
    assert np.allclose(shares_of(channel), rows)


FAULTS = Path(__file__).parent.parent / "faults"


UNIT = PublicRange(0, 1)
VALUES = 1 << 17


def _made_with_decoys(fault, name):
    return runpy.run_path(str(FAULTS / f"{fault}.py"))[name](epsilon=1.0, dims=6, range=(0, 1))


def test_only_answers_that_somebody_else_calls_blind_are_decoys():
    blind = mechanism("onebit", epsilon=1.0, dims=4, range=(0, 1)).blind()
    assert not has_decoys(blind) and claims_independence(blind)
    decoyed = _made_with_decoys("decoys_in_name_only", "sound")
    assert has_decoys(decoyed) and not claims_independence(decoyed)


@pytest.mark.statistical  # a false alarm in a hundred million; the seed is fixed
@pytest.mark.parametrize("fault", ["decoys_in_name_only", "decoys_sighted", "padding_from_others"])
def test_blind_decoys_pass(fault):
    sound = _made_with_decoys(fault, "sound")
    check_decoys(Version(sound, UNIT, SeededBits(1)), VALUES)


def test_decoys_that_are_answers_give_a_code_too_often():
    faulty = _made_with_decoys("decoys_in_name_only", "build")
    with pytest.raises(LeakError, match="decoys are not blind"):
        check_decoys(Version(faulty, UNIT, SeededBits(1)), VALUES)


def test_decoys_that_tell_something_together_are_found():
    faulty = _made_with_decoys("decoys_of_one_coin", "build")
    with pytest.raises(LeakError, match="tell more together"):
        check_decoys(Version(faulty, UNIT, SeededBits(1)), VALUES)
