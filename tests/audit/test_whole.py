import pytest

from graphveil.audit.enumeration import JointDistribution
from graphveil.audit.exact_loss import describe_size, joint_step
from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, mechanism


def _two_bits(claim, each, kind=FeatureMechanism):
    return JointDistribution.of(kind("two bits", Claim(claim), PublicRange(0, 1), 3, 2, (onebit(each),), 1.5))


def test_budgets_that_add_up_are_told():
    step = joint_step(_two_bits(1.0, 0.5), finite=True)
    assert step.leaks == ()
    assert step.seen == (
        "2 of 3 values, 12 different reports, 3 inputs: the largest ratio is e^1 = 2.71829, claimed e^1"
    )


def test_budgets_that_do_not_add_up_name_report_inputs_and_ratio():
    (leak,) = joint_step(_two_bits(1.0, 1.0), finite=True).leaks
    assert leak == (
        "with 2 of 3 values, the report (dimension 0 = code 0, dimension 1 = code 0) is e^2 = 7.38906 times as likely "
        "under [0, 0, 0] as under [1, 1, 1]; the claim allows e^1 = 2.71829"
    )


def test_a_stated_loss_below_the_enumerated_one_is_found():
    class Modest(FeatureMechanism):
        @property
        def loss(self):
            return self.channels[0].loss

    leaks = joint_step(_two_bits(2.0, 1.0, Modest), finite=True).leaks
    assert any("the stated loss is wrong" in leak for leak in leaks)


@pytest.mark.parametrize(
    ("finite", "words"), [(True, "too many different reports"), (False, "a documented exception")]
)
def test_what_is_not_enumerated_is_left_out_and_says_why(finite, words):
    step = joint_step(None, finite)
    assert step.skipped
    assert step.leaks == ()
    assert words in step.seen


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("multibit", {"dims": 9, "range": (0, 1)}, "1 of 9 values"),
        ("onebit", {"dims": 9, "range": (0, 1)}, "all 9 values"),
        ("item", {"dims": 9, "length": 2}, "a row of 9 values"),
        ("krr", {"classes": 3}, "one label"),
        ("link-rr", {"dims": 3}, "lists of 3 users"),
        ("lapgraph", {"dims": 3}, "graphs of 3 cells"),
    ],
)
def test_size_is_said_in_words(name, settings, words):
    assert describe_size(mechanism(name, epsilon=1.0, **settings)) == words
