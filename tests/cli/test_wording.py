"""Errors on the command line name its options."""

from tests.cli.support import not_refused

MISTAKES = [
    ("run base --data town", "give --epsilon, like 1"),
    ("run base --data town --epsilon -1", "--epsilon must be"),
    ("run base --data town --epsilon 1 --link-epsilon -1", "--link-epsilon must be"),
    ("run base --data town --epsilon 1 --norm-bound 2", "give --norm-epsilon too"),
    ("run base --data town --epsilon 1 --runs 0", "--runs must be an integer"),
    ("run base --data town --epsilon 1 --jobs 0", "--jobs must be"),
    ("run base --data town --epsilon 1 --set link.beta=1", "give --link-epsilon too"),
    ("run base --data town --epsilon 1 --link-mechanism dprr", "give --link-epsilon too"),
    ("run ppgnn --data town --epsilon 1 --budgets 2,1", "--budgets must be"),
    ("run structure --data town --epsilon 1", "leave --epsilon out"),
    ("run base --data town --epsilon 1 --panel 5", "--panel has no meaning for it"),
]


def test_a_mistake_names_the_option(capsys):
    assert not_refused([(words.split(), said) for words, said in MISTAKES], capsys) == []
