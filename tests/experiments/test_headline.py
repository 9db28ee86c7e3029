"""One sentence for any number of results."""

import pytest

from graphveil.experiments.report import gain_verdict, results_headline
from graphveil.experiments.result import Result


def record(gain=(0.1, 0.05, 0.15), over=None, **changes):
    def scores(three):
        return None if three is None else dict(zip(("mean", "low", "high"), three, strict=True))

    fields = {
        "method": "base",
        "data": "town",
        "epsilon": 1.0,
        "mechanism": "multibit",
        "runs": (0.7, 0.8),
        "mean": 0.75,
    }
    return Result.model_validate(fields | {"gain": scores(gain), "gain_over_structure": scores(over)} | changes)  # fmt: skip


def test_one_result_is_told_with_both_of_its_gains():
    said = results_headline([record(over=(-0.05, -0.06, -0.04))])
    assert (
        said
        == "base on town at ε = 1: +10.0 ± 5.0 points over its control, and -5.0 ± 1.0 over asking nobody."
    )


def test_one_result_that_gained_nothing_says_so():
    assert results_headline([record((0.0, -0.1, 0.1))]).endswith(": nothing measurable.")


def test_several_results_become_one_sentence():
    results = [
        record(over=(-0.1, -0.2, -0.05)),
        record((0.2, 0.1, 0.3), (0.1, 0.05, 0.15), epsilon=4.0, method="veil"),
        record((-0.2, -0.3, -0.1)),
        record((0.0, -0.1, 0.1)),
    ]
    assert results_headline(results) == (
        "Of 4 private results, 2 clearly add to the control, 1 clearly costs something, and 1 clearly beats asking nobody; "
        "the largest gain is that of veil at ε = 4 on town, +20.0 ± 10.0 points."
    )


def test_results_without_a_control_say_which_reaches_most():
    plain = record(None, method="nonprivate", epsilon=None, mechanism=None)
    assert results_headline([plain]) == "1 result, none beside a control: nonprivate reaches 75.0 on town."


def test_no_results_are_told():
    assert results_headline([]) == "No results."


@pytest.mark.parametrize(
    ("gain", "words"),
    [((0.1, 0.01, 0.2), "adds"), ((-0.1, -0.2, -0.01), "costs"), ((0.1, None, None), "none from one run"), (None, None)],
)  # fmt: skip
def test_a_verdict_rests_on_the_interval(gain, words):
    assert gain_verdict(record(gain)) == words
