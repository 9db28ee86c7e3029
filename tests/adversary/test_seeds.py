"""Seeds of up to 64 bits work everywhere, larger ones are refused in a sentence."""

import re

import pytest

import graphveil as gv
from graphveil import SeededBits
from graphveil.channels.sampling import MAX_SEED
from graphveil.cli import status
from graphveil.graphs.splits import check_seed
from graphveil.graphs.town import Town
from tests.refusals import check_refused

pytestmark = pytest.mark.usefixtures("own_cache")
RUN = ["run", "base", "--data", "town", "--epsilon", "1"]
SMALL = [
    *("--set", "epochs=2", "--set", "data.users=400", "--set", "data.features=16"),
    *("--set", "data.telling=4", "--set", "data.labelled=0.2", "--set", "data.validated=0.2", "--no-control"),
]


@pytest.mark.parametrize(
    "take",
    [
        check_seed,
        SeededBits,
        lambda seed: Town(seed=seed),
        lambda seed: gv.load("town", seed, users=400),
        lambda seed: gv.run("base", "town", epsilon=1.0, seed=seed),
        lambda seed: gv.embed("base", "town", epsilon=1.0, seed=seed),
    ],
)
def test_a_seed_of_more_than_64_bits_is_refused(take):
    words = re.compile(r"at most (2\^64 - 1|64 bits)")
    check_refused(take, [(seed, words) for seed in (2**64, 2**64 + 1, 10**30)])


def test_the_largest_seed_is_taken():
    assert check_seed(MAX_SEED) == MAX_SEED
    assert SeededBits(MAX_SEED).take(1).size == 1
    assert Town(seed=MAX_SEED).seed == MAX_SEED


@pytest.mark.parametrize(
    "command",
    [RUN, ["tune", *RUN[1:]], ["embed", *RUN[1:], "--out", "x.npz"], ["audit", "multibit"]],
    ids=["run", "tune", "embed", "audit"],
)
def test_the_command_line_refuses_it_with_status_2(capsys, command):
    assert status([*command, "--seed", str(2**64)]) == 2
    assert capsys.readouterr().err.startswith("Error: ")


def test_a_run_with_the_largest_seed_works_and_the_seed_of_the_last_run_counts(capsys):
    command = [*RUN, *SMALL, "--seed", str(MAX_SEED)]
    assert status([*command, "--runs", "1"]) == 0
    assert status([*command, "--runs", "2"]) == 2
    assert "the seed of the last of 2 runs" in capsys.readouterr().err
