"""The page about mechanisms says what the code computes."""

from pathlib import Path

import numpy as np
import pytest

from docs.mechanism_errors import error_table, squared_error, three_digits
from graphveil.channels.sampling import SeededBits
from graphveil.mechanisms import PersonalMechanism, mechanism
from graphveil.number_format import rounded_up
from tests.mechanisms.support import EVERYTHING as UNIFORM
from tests.mechanisms.support import PERSONAL

EVERYTHING = [*UNIFORM, *PERSONAL]

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "mechanisms.md").read_text(encoding="utf-8")
LINES = {
    cells[1].strip("` "): [cell.strip() for cell in cells[2:-1]]
    for cells in (line.split("|") for line in PAGE.splitlines() if line.startswith("| `"))
}


def test_the_page_has_the_computed_table_and_every_mechanism_once():
    assert error_table().startswith("| ε | multibit")
    assert error_table() in PAGE
    assert sorted(LINES) == sorted(EVERYTHING)
    assert PAGE.count("\n| `") == len(EVERYTHING)


SETTINGS = {
    "krr": {"classes": 7},
    "esw": {"levels": 6},
    "item": {"dims": 1433, "length": 18},
    "privhrg": {"dims": 1433, "sweeps": 1},
    "edgerr": {"dims": 1433, "sweeps": 1},
    **{name: {"dims": 1433} for name in ("link-rr", "lapgraph", "blink", "dprr")},
}


def computed_cells(name):
    """How the claim begins, the bytes of a report, and whether estimates are unbiased."""
    found = mechanism(name, epsilon=1.0, **SETTINGS.get(name, {"dims": 1433, "range": (0, 1)}))
    held = np.zeros((1, 1433)) if found.subject in ("features", "links") else [1]
    held = (np.array([1]), held) if isinstance(found, PersonalMechanism) else held
    size = len(found.randomize(held, SeededBits(0)).to_bytes()) - 68
    claim = "(ε, δ)" if found.claim.delta else "ε"
    return claim, "varies" if found.shape.uneven else str(size), "yes" if found.unbiased else "no"


def test_the_page_has_claim_bytes_and_bias_of_every_mechanism():
    failed = {}
    for name in EVERYTHING:
        claim, size, unbiased = expected = computed_cells(name)
        told = LINES[name][1:4]
        if not (told[0].startswith(claim) and told[1:] == [size, unbiased]):
            failed[name] = told, expected
    assert not failed, "\n".join(map(str, failed.items()))


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["multibit", "piecewise", "item", "privunit"])
def test_the_expected_error_is_the_error_of_drawn_estimates(name):
    """20,000 users with 3 ones of 12: z-test of the mean squared error; false alarm 1e-6, seed fixed."""
    settings = {"item": {"length": 4}, "privunit": {"radius": 2.0}}.get(name, {"range": (0, 1)})
    found = mechanism(name, epsilon=2.0, dims=12, **settings)
    row = np.repeat([1.0, 0.0], [3, 9])
    estimates = found.randomize(np.tile(row, (20_000, 1)), SeededBits(1)).estimate().dense()
    errors = ((estimates - row) ** 2).sum(axis=1)
    expected = squared_error(found, 3)
    assert abs(errors.mean() - expected) <= 4.9 * errors.std() / np.sqrt(errors.size) + 1e-9 * expected


def test_numbers_have_three_digits_and_no_error_is_made_up():
    assert [three_digits(value) for value in (1234567.0, 307.6, 42.0)] == ["1,230,000", "308", "42"]
    with pytest.raises(TypeError, match="no closed form"):
        squared_error(mechanism("krr", epsilon=1.0, classes=3), 1)


def test_the_page_has_the_exact_losses_of_levels():
    lines = []
    for epsilon in (0.1, 0.5, 1.0):
        found = mechanism("ppm", epsilon=epsilon, dims=1433, range=(0, 1))
        losses = found.feature_loss(4), found.mixed_loss, found.level_loss
        budgets = ", ".join(f"{budget:g}" for budget in found.budgets)
        lines.append(f"| {budgets} | {' | '.join(rounded_up(loss.epsilon, 3) for loss in losses)} |")
    missing = [line for line in lines if line not in PAGE]
    assert not missing, missing
