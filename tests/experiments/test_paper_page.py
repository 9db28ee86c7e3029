"""Papers on one page: what the headline says of printed scores."""

from graphveil.experiments.measures import SCORE, Reading
from graphveil.experiments.paper_result import comparison_sentence
from graphveil.experiments.study_result import CellResult
from graphveil.statistics import Summary
from tests.experiments.known import paper_of


def outcomes(*intervals):
    """Cells whose printed score is compared with our intervals, which are given around it, in points."""
    tables = paper_of("upgnet").tables
    cells = [cell for table in tables for cell in table.cells if cell.measure.name == SCORE and cell.printed]
    for cell, (low, high) in zip(cells, intervals, strict=False):
        middle = cell.printed / 100
        ours = Summary(middle, middle + low / 100, middle + high / 100)
        yield CellResult(cell, reading=Reading({"method": ours}))


def test_printed_scores_within_our_intervals_are_counted():
    found = list(outcomes((-1, 1), (0.04, 1), (0.06, 1), (-1, -0.06)))
    assert comparison_sentence(found) == "2 of 4 printed scores lie within the 95% intervals of our means."


def test_nothing_is_said_where_nothing_compares():
    (outcome,) = outcomes((-1, 1))
    assert comparison_sentence([]) == comparison_sentence([CellResult(outcome.cell)]) == ""
