"""Named checks: all are run, and all that fail are named."""

import pytest

from graphveil.suites import Check, run_checks


def failing(error):
    def run():
        raise error

    return run


def test_checks_that_hold_say_nothing():
    ran = []
    run_checks("it", [Check("one", lambda: ran.append(1)), Check("two", lambda: ran.append(2))])
    assert ran == [1, 2]


def test_all_that_fail_are_named_in_their_order():
    checks = [
        Check("first", failing(AssertionError("too small"))),
        Check("second", lambda: None),
        Check("third", failing(AssertionError("too large"))),
    ]
    with pytest.raises(AssertionError) as raised:
        run_checks("it", checks)
    assert str(raised.value) == "it fails 2 of 3 checks:\nfirst: too small\nthird: too large"


def test_an_error_in_one_check_is_named_by_its_kind_and_hides_no_other():
    checks = [Check("first", failing(KeyError("a"))), Check("second", failing(AssertionError("too small")))]
    with pytest.raises(AssertionError, match="first: KeyError: 'a'\nsecond: too small"):
        run_checks("it", checks)


def test_the_first_failure_is_the_cause():
    cause = AssertionError("too small")
    with pytest.raises(AssertionError) as raised:
        run_checks("it", [Check("first", failing(cause)), Check("second", failing(AssertionError()))])
    assert raised.value.__cause__ is cause


def test_an_interruption_is_not_caught():
    with pytest.raises(KeyboardInterrupt):
        run_checks("it", [Check("first", failing(KeyboardInterrupt()))])
