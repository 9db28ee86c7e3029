"""Every registered mechanism's claim against whole reports enumerated by hand, from nothing but its integer tables.

How a report comes about is written down here a second time: which values are asked, what is drawn, how answers go together.
No loss, no claim and no enumeration of the package is used to find the reference.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest

from graphveil.mechanisms import Mechanism, mechanism, names
from tests.channels.reference import (
    is_rounded_up,
    largest_divergence,
    largest_ratio,
    precise_exp,
    precise_log,
)
from tests.together import together

# The probability of every whole report, by what it says, for one private input.
Reports = dict[Any, Fraction]
# A pure mechanism may waste this part of its budget.
WASTE = Fraction(1, 10**9)
EPSILONS = (0.3, 1.0, 4.0)


def table_of(channel) -> list[list[Fraction]]:
    """The probabilities of a channel's outputs, a row for each input."""
    rows = [channel.row(symbol) for symbol in range(channel.input_count)]
    assert all(sum(row) == channel.total for row in rows)
    return [[Fraction(count, channel.total) for count in row] for row in rows]


def several(tables: list[list[list[Fraction]]], row: tuple[int, ...], asked: int) -> Reports:
    """Some of the values, all choices alike, each answered through its own table."""
    found: Reports = {}
    choices = list(combinations(range(len(row)), asked))
    for places in choices:
        answers = [tables[place][row[place]] for place in places]
        for codes in product(*(range(len(answer)) for answer in answers)):
            chances = (answer[code] for answer, code in zip(answers, codes, strict=True))
            found[places, codes] = math.prod(chances, start=Fraction(1, len(choices)))
    return found


def features(found: Any) -> dict[Any, Reports]:
    """All rows of input symbols, where m of d values are asked."""
    tables = [table_of(channel) for channel in found.channels] * (found.size // len(found.channels))
    rows = product(*(range(len(table)) for table in tables))
    return {row: several(tables, row, found.sampled) for row in rows}


def symbols(found: Any) -> dict[Any, Reports]:
    """All symbols: one is sent."""
    return {symbol: dict(enumerate(row)) for symbol, row in enumerate(table_of(found.channel))}


def items(found: Any) -> dict[Any, Reports]:
    """All rows of items: one of them, or one of the blanks that fill the public length, is answered."""
    table, inputs = table_of(found.channel), {}
    for row in product((0, 1), repeat=found.size):
        held = [place for place, bit in enumerate(row) if bit]
        drawn = [*held, *range(found.size + len(held), found.size + found.length)]
        chances = zip(*(table[symbol] for symbol in drawn), strict=True)
        inputs[row] = {code: sum(each) / len(drawn) for code, each in enumerate(chances)}
    return inputs


def links(found: Any) -> dict[Any, Reports]:
    """All lists of neighbours, each pair answered by itself."""
    tables = [table_of(found.channel)] * found.size
    return {row: several(tables, row, found.size) for row in product((0, 1), repeat=found.size)}


def graphs(found: Any) -> dict[Any, Reports]:
    """All graphs, by which of the pairs are links: everything that all users send together."""
    pairs, inputs = list(combinations(range(found.size), 2)), {}
    for row in product((0, 1), repeat=len(pairs)):
        links = {pair for pair, bit in zip(pairs, row, strict=True) if bit}
        users = [list(one_of_a_graph(found, links, user).items()) for user in range(found.size)]
        inputs[row] = {
            tuple(report for report, _ in sent): math.prod((chance for _, chance in sent), start=Fraction(1))
            for sent in product(*users)
        }
    return inputs


def one_of_a_graph(found: Any, links: set[Any], user: int) -> Reports:
    """What one user sends: the degree with noise and an answer about each who is asked, sampled by the noisy degree."""
    near = {other for other in range(found.size) if {(user, other), (other, user)} & links}
    below, sampled = range(user), found.name.endswith("dprr")
    asked = [other for other in range(found.size) if other != user] if found.ends == "both" else list(below)
    degree, pair = len(near & set(below)) if sampled else len(near), table_of(found.channel)
    sent: Reports = {}
    for noisy, chance in enumerate(table_of(found.degree_channel)[degree]):
        chances = [pair[other in near] for other in asked]
        if sampled:
            chances = [_sampled(pair, other in near, len(asked), noisy) for other in asked]
        for answers in product((0, 1), repeat=len(asked)):
            each = (row[answer] for row, answer in zip(chances, answers, strict=True))
            sent[noisy, answers] = math.prod(each, start=chance)
    return sent


def _sampled(pair: list[list[Fraction]], link: bool, asked: int, noisy: int) -> list[Fraction]:
    """No and yes about a pair of which a yes is kept with θ; all probabilities are counts of 2^62."""
    wrong = pair[0][1]
    kept = min(Fraction(noisy) / (noisy * (1 - 2 * wrong) + asked * wrong), Fraction(1))
    mistake = Fraction(math.ceil(wrong * kept * 2**62), 2**62)
    yes = Fraction(math.floor(mistake * (1 - wrong) / wrong * 2**62), 2**62) if link else mistake
    # The control answers a link as it answers any pair.
    yes = mistake if pair[0] == pair[1] else yes
    return [1 - yes, yes]


def published(found: Any) -> dict[Any, Reports]:
    """All graphs of a few cells: a noisy number, a noisy bit a cell, and the first cells of a random order, larger bits first."""
    table, ratio = table_of(found.channel), Fraction(found.counting.row(0)[1], found.counting.row(0)[0])
    cells, inputs = found.size, {}
    every = list(product((0, 1), repeat=cells))
    sets_of = {
        (bits, number): [chosen for chosen in every if sum(chosen) == number and larger_first(chosen, bits)]
        for bits, number in product(every, range(cells + 1))
    }
    for row in every:
        sent: Reports = dict.fromkeys(every, Fraction(0))
        numbers = number_of_links(sum(row) if found.channel.truthful else 0, cells, ratio)
        for bits in every:
            chance = math.prod(table[bit][noisy] for bit, noisy in zip(row, bits, strict=True))
            for number, likely in enumerate(numbers):
                sets = sets_of[bits, number]
                each = chance * likely / len(sets)
                for chosen in sets:
                    sent[chosen] += each
        inputs[row] = sent
    return inputs


def number_of_links(links: int, most: int, ratio: Fraction) -> list[Fraction]:
    """Each number from 0 to the most, by noise of ratio^|k| on both sides; the ends get all beyond them."""
    point, tail = (1 - ratio) / (1 + ratio), 1 / (1 + ratio)
    chances = [point * ratio ** abs(number - links) for number in range(most + 1)]
    chances[0], chances[most] = tail * ratio**links, tail * ratio ** (most - links)
    assert sum(chances) == 1
    return chances


def larger_first(chosen: tuple[int, ...], bits: tuple[int, ...]) -> bool:
    """Whether no cell outside of the chosen ones has a larger bit than one of them."""
    inside = [bit for bit, there in zip(bits, chosen, strict=True) if there]
    outside = [bit for bit, there in zip(bits, chosen, strict=True) if not there]
    return min(inside, default=1) >= max(outside, default=0)


def levels(found: Any) -> dict[Any, Reports]:
    """All levels and rows: a level is named, some values are named, and as many answered as the two levels say."""
    named, inputs = table_of(found.level_channel), {}
    for level, ways in enumerate(found.ways):
        symbols_of = range(ways[0].channel.input_count)
        for row in product(symbols_of, repeat=found.size):
            inputs[level, row] = dict(personal(found, named[level], ways, row))
    return inputs


def personal(found: Any, chances: list[Fraction], ways: Any, row: tuple[int, ...]) -> Iterator[Any]:
    """The reports of a user of some level, by the level and the places named, those answered, and the codes."""
    choices = list(combinations(range(found.size), found.most))
    for (told, chance), places in product(enumerate(chances), choices):
        way = ways[told]
        table, answered = table_of(way.channel), list(combinations(places, way.count))
        for some in answered:
            start = chance / len(choices) / len(answered)
            for codes in product(range(way.channel.output_count), repeat=way.count):
                each = (table[row[place]][code] for place, code in zip(some, codes, strict=True))
                shown = tuple(way.first + code for code in codes)
                yield (told, places, some, shown), math.prod(each, start=start)


GRID, SAMPLED = {"dims": 2, "range": (0, 1), "points": 3}, {"sampled": 1}
BITS = {"dims": 3, "range": (0, 1)}
# How each mechanism is built small, and how its reports come about.
PURE: dict[str, tuple[dict[str, Any], Callable[[Any], dict[Any, Reports]]]] = {
    "onebit": (BITS, features),
    "laplace": ({**GRID, "dims": 1}, features),
    "multibit": ({**BITS, "sampled": 2}, features),
    "piecewise": (GRID | SAMPLED, features),
    "square-wave": (GRID | SAMPLED, features),
    "hds": (GRID | SAMPLED, features),
    "duchi": ({**BITS, "sampled": 2}, features),
    "hybrid": (GRID | SAMPLED, features),
    "three-output": ({**BITS, "sampled": 2}, features),
    "pm-sub": (GRID | SAMPLED, features),
    "condensed": ({**GRID, "dims": 3, "sampled": 2}, features),
    "latent": ({"dims": 2, "range": (0, 1), "bits": 2}, features),
    "ome": ({"dims": 2, "range": (0, 1), "bits": 2}, features),
    "featurerr": ({"dims": 2, "range": (0, 1)}, features),
    "item": ({"dims": 3, "length": 2}, items),
    "krr": ({"classes": 5}, symbols),
    "esw": ({"levels": 4}, symbols),
    "link-rr": ({"dims": 3}, links),
    "blink": ({"dims": 3}, graphs),
    "dprr": ({"dims": 3}, graphs),
}
# Those with a δ, those with levels, the one without tables, which test_privunit.py compares with densities, and the curators',
# of whose answers no graph shows all: test_edgerr.py writes out those of privhrg and edgerr.
OTHERS = {"gaussian", "analytic-gaussian", "ppm", "ppm-printed", "privunit", "lapgraph", "privhrg", "edgerr"}


def test_every_registered_mechanism_has_a_reference():
    assert set(names()) == set(PURE) | OTHERS, "PURE must say how each mechanism's reports come about"


def ratio(one: Reports, other: Reports) -> Fraction | None:
    """How much likelier any report is under the first of two inputs; None if it is impossible under the other."""
    worst = Fraction(1)
    for report, chance in one.items():
        against = other.get(report, Fraction(0))
        if chance and not against:
            return None
        worst = max(worst, chance / against) if chance else worst
    return worst


def one_link_apart(inputs: dict[Any, Reports]) -> Fraction | None:
    """The largest ratio of any report under two lists that differ in one link."""
    pairs = [
        (one, other)
        for one, other in product(inputs, repeat=2)
        if sum(a != b for a, b in zip(one, other, strict=True)) == 1
    ]
    ratios = [ratio(inputs[one], inputs[other]) for one, other in pairs]
    return None if None in ratios else max(ratios)


def any_two(inputs: dict[Any, Reports]) -> Fraction | None:
    """The largest ratio of any report under any two inputs."""
    return largest_ratio([list(reports.values()) for reports in inputs.values()])


def enumerated(name: str, epsilon: float) -> tuple[Mechanism, dict[Any, Reports]]:
    settings, reports_of = PURE[name]
    found = mechanism(name, epsilon=epsilon, **settings)
    inputs = reports_of(found)
    assert all(sum(reports.values()) == 1 for reports in inputs.values())
    assert len({tuple(reports) for reports in inputs.values()}) == 1
    return found, inputs


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", PURE)
def test_the_worst_report_reveals_the_budget_that_was_asked_for(name, epsilon):
    found, inputs = enumerated(name, epsilon)
    worst = one_link_apart(inputs) if found.subject == "links" else any_two(inputs)
    assert worst is not None
    assert precise_exp(Fraction(epsilon) * (1 - WASTE)) <= worst <= precise_exp(Fraction(epsilon))
    assert is_rounded_up(found.epsilon, precise_log(worst))


@pytest.mark.parametrize("name", PURE)
def test_the_control_s_reports_are_the_same_for_all_inputs(name):
    settings, reports_of = PURE[name]
    first, *others = reports_of(mechanism(name, epsilon=1.0, **settings).blind()).values()
    assert all(other == first for other in others)


@pytest.mark.parametrize("epsilon", [0.3, 0.9])
@pytest.mark.parametrize("name", ["gaussian", "analytic-gaussian"])
def test_beyond_the_budget_no_more_than_delta_is_revealed(name, epsilon):
    """δ of one value by its definition; two values cost twice that at most, each with half of the budget."""
    delta = 1e-3
    found = mechanism(name, epsilon=epsilon, delta=delta, dims=2, range=(0, 1), points=3)
    channel = found.channels[0]
    table = [channel.row(symbol) for symbol in range(channel.input_count)]
    each = largest_divergence(table, precise_exp(Fraction(epsilon) / 2), channel.total)
    assert 0 < 2 * each <= Fraction(delta)


# Where a curator publishes a graph: 1, 3 and 6 cells are the pairs of 2, 3 and 4 users


@pytest.mark.parametrize(
    ("cells", "share", "epsilon"),
    [
        *((*case, epsilon) for case in ((1, 0.1), (3, 0.1), (3, 0.5), (3, 0.9)) for epsilon in EPSILONS),
        (6, 0.1, 1.0),
    ],
)
def test_no_published_graph_reveals_a_link_by_more_than_the_budget(cells, epsilon, share):
    inputs = published(mechanism("lapgraph", epsilon=epsilon, dims=cells, share=share))
    assert all(sum(reports.values()) == 1 for reports in inputs.values())
    worst = one_link_apart(inputs)
    # The number alone reveals its part, by a graph without links and one of all pairs.
    assert worst is not None
    assert precise_exp(Fraction(share * epsilon) * (1 - WASTE)) <= worst <= precise_exp(Fraction(epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
@together("cells", [1, 3, 4])
def test_the_curator_s_own_enumeration_is_the_same(cells, epsilon):
    found = mechanism("lapgraph", epsilon=epsilon, dims=cells)
    for row, reports in published(found).items():
        counts, total = found.joint_counts(row)
        for chosen, chance in reports.items():
            place = sum(bit << cell for cell, bit in enumerate(chosen))
            assert Fraction(counts[place], total) == chance


def test_the_curator_s_control_publishes_the_same_for_all_graphs():
    first, *others = published(mechanism("lapgraph", epsilon=1.0, dims=3).blind()).values()
    assert all(other == first for other in others)


# Where users choose a level


LEVELS = {"dims": 2, "range": (0, 1), "levels": 3}


@pytest.mark.parametrize("epsilon", [0.5, 1.5])
@pytest.mark.parametrize("sampled", [1, None])
def test_two_users_are_told_apart_by_the_larger_of_their_budgets_at_most(epsilon, sampled):
    inputs = levels(mechanism("ppm", epsilon=epsilon, sampled=sampled, **LEVELS))
    assert all(sum(reports.values()) == 1 for reports in inputs.values())
    for one, other in product(inputs, repeat=2):
        budget = Fraction(epsilon) * 2 ** max(one[0], other[0])
        found = ratio(inputs[one], inputs[other])
        assert found is not None and found <= precise_exp(budget), (one, other)


@pytest.mark.parametrize("epsilon", [0.5, 1.5])
def test_as_printed_rows_of_a_level_are_protected_and_some_report_betrays_the_level(epsilon):
    inputs = levels(mechanism("ppm-printed", epsilon=epsilon, **LEVELS))
    betrayed = set()
    for one, other in product(inputs, repeat=2):
        found = ratio(inputs[one], inputs[other])
        if one[0] != other[0]:
            betrayed.add(found)
        else:
            assert found is not None and found <= precise_exp(Fraction(epsilon) * 2 ** one[0])
    assert None in betrayed
