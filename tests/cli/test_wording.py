"""Errors on the command line name its options."""

import pytest

from graphveil.cli import status
from graphveil.cli.wording import command_words


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("epsilon must be a number, got -1", "--epsilon must be a number, got -1"),
        ("give link_epsilon too", "give --link-epsilon too"),
        ("leave panel out, or take one of veil", "leave --panel out, or take one of veil"),
        ("the seed of a run", "the seed of a run"),
        ("base asks for epsilon 2 about features", "base asks for epsilon 2 about features"),
        ("mechanism.link_epsilon=2 and --link-epsilon", "mechanism.link_epsilon=2 and --link-epsilon"),
    ],
)
def test_arguments_become_options_where_they_are_meant(said, shown):
    assert command_words(said) == shown


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("run base --data town", "give --epsilon, for example 1"),
        ("run base --data town --epsilon -1", "--epsilon must be"),
        ("run base --data town --epsilon 1 --norm-bound 2", "give --norm-epsilon too"),
        ("run base --data town --epsilon 1 --runs 0", "--runs must be an integer"),
    ],
)
def test_a_mistake_names_the_option(words, shown, capsys):
    assert status(words.split()) == 2
    assert shown in capsys.readouterr().err
