import numpy as np
import pytest

from graphveil.audit.exact_loss import tables_step
from graphveil.channels import TOTAL, Channel, Claim
from graphveil.channels.exact import Loss
from graphveil.mechanisms import FeatureMechanism, PublicRange, mechanism


def _binary(keep, claim, kind=Channel):
    table = np.array([[keep, TOTAL - keep], [TOTAL - keep, keep]])
    return kind("bit", table, np.array([-1.0, 1.0]), np.array([-1.0, 1.0]), Claim(claim))


def _features(channel, claim, count):
    return FeatureMechanism("test", Claim(claim), PublicRange(0, 1), count, count, (channel,), 1.0)


def test_a_table_within_its_claim_has_no_leak():
    assert tables_step(mechanism("piecewise", epsilon=1.0, dims=4, range=(0, 1)), 1.0).leaks == ()


def test_exact_epsilon_is_printed_and_rounded_up():
    channel = _binary(3 * TOTAL // 4, 1.1)
    assert "epsilon 1.09861228866811 (1 x bit" in tables_step(_features(channel, 1.1, 1), 1.1).seen


def test_the_leak_names_output_inputs_and_ratio():
    (leak,) = tables_step(_features(_binary(3 * TOTAL // 4, 1.0), 1.0, 1), 1.0).leaks
    assert "output 0 of bit has probability 0.75 under input 0 (-1) and 0.25 under input 1 (1)" in leak
    assert "a ratio of e^1.09861229 = 3" in leak


def test_answers_that_keep_their_own_claim_but_not_the_sum():
    (leak,) = tables_step(_features(_binary(3 * TOTAL // 4, 1.1), 1.1, 3), 1.1).leaks
    assert "the budget is not divided" in leak


def test_a_channel_that_understates_itself_is_found():
    class Modest(Channel):
        @property
        def loss(self):
            return Loss(())

    (leak,) = tables_step(_features(_binary(3 * TOTAL // 4, 1.0, Modest), 1.0, 1), 1.0).leaks
    assert "its table has 1.09861228866811" in leak


def test_a_row_that_does_not_sum_to_one_is_found():
    class Short(Channel):
        def row(self, symbol):
            return [count // 2 for count in super().row(symbol)]

    leaks = tables_step(_features(_binary(3 * TOTAL // 4, 2.0, Short), 2.0, 1), 2.0).leaks
    assert any("row 0 of bit does not sum to 1" in leak for leak in leaks)


@pytest.mark.parametrize("name", ["gaussian", "analytic-gaussian"])
def test_delta_is_told(name):
    assert "and 1e-05" in tables_step(mechanism(name, epsilon=1.0, dims=4, range=(0, 1)), 1.0).seen


def test_what_has_no_table_says_so():
    assert (
        "no finite table" in tables_step(mechanism("privunit", epsilon=1.0, dims=4, range=(0, 1)), 1.0).seen
    )


def test_a_claim_above_what_was_asked_for_is_found():
    (leak,) = tables_step(_features(_binary(3 * TOTAL // 4, 1.1), 1.1, 1), 1.0).leaks
    assert "it was asked for epsilon 1 and claims 1.1" in leak


def test_a_finite_mechanism_without_channels_is_found():
    class Silent(FeatureMechanism):
        answers = ()

    silent = Silent("silent", Claim(1.0), PublicRange(0, 1), 1, 1, (_binary(TOTAL, 1.0),), 1.0)
    (leak,) = tables_step(silent, 1.0).leaks
    assert "it names no channels" in leak
