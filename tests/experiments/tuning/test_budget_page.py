"""Advice on a budget as a page: everything in one file, with the map."""

import re

import pytest

from graphveil.experiments.specs.spec import Spec
from graphveil.experiments.tuning.budget_advice import advise_budget
from graphveil.experiments.tuning.budget_page import budget_map, budget_page, head, rows, sentences


@pytest.fixture(scope="module")
def advice():
    settings = {"data.users": 400, "data.labelled": 0.5, "data.validated": 0.25, "epochs": 5}
    return advise_budget(Spec.of("veil", "town", epsilon=4.0, settings=settings), (1.0, 4.0))


def test_a_page_stands_alone_and_has_table_and_map(advice):
    text = budget_page(advice)
    assert text.startswith("<!doctype html>") and text.count("<svg") == 1 and text.count("<table>") == 1
    assert not re.search(r'(src|href)="(?!#)', text)
    assert "do not collect" in text or "collect:" in text or "open:" in text


def test_the_map_is_the_same_every_time(advice):
    assert budget_map(advice) == budget_map(advice)


def test_the_table_has_a_line_a_budget(advice):
    assert [row[0] for row in rows(advice)] == ["1", "4"]
    assert all(len(row) == len(head()) for row in rows(advice))


def test_sentences_say_what_is_known_and_what_is_only_stored(advice):
    said = " ".join(sentences(advice))
    assert "400 users" in said and "Nobody was asked" in said and "stored fact" in said
    assert "volunteers gave" not in said
