"""Errors name arguments where Python is called, and options on the command line."""

import pickle

import pytest

import graphveil as gv
from graphveil.errors import InputError, RefusalError, ServerError


def test_an_error_names_the_argument_and_keeps_the_option():
    error = InputError("give --link-epsilon, or see `graphveil run --help`")
    assert str(error) == "give link_epsilon, or see `graphveil run --help`"
    assert error.as_written == "give --link-epsilon, or see `graphveil run --help`"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_name_with_dashes_is_no_option():
    assert str(InputError("my--file.csv is no file")) == "my--file.csv is no file"


def test_a_missing_budget_is_an_argument_in_python():
    with pytest.raises(InputError, match="base reports features and needs a budget: give epsilon, like 1"):
        gv.run("base", "town")


@pytest.mark.parametrize(
    ("error", "mark"),
    [(RefusalError("cap", "it costs too much"), "reason"), (ServerError(503, "it is full"), "status")],
)
def test_an_error_with_a_mark_shows_its_sentence_and_survives_pickling(error, mark):
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) == error.args[1]
    assert getattr(copy, mark) == getattr(error, mark) == error.args[0]
