"""Ctrl-C in every long command: status 130, and one sentence on what was kept and how to go on."""

import importlib

import pytest

from graphveil.cli import one_run

ANEW = "nothing was written, and the same command begins anew"
GOES_ON = "every finished run is kept, and the same command goes on from there"
ON_TOWN = "--data town --epsilon 1"
# What is interrupted, in which command, and what is said.
CASES = [
    ("experiments.runner.compute_unit", f"run base {ON_TOWN}", f"no run of base is finished; {GOES_ON}"),
    (
        "cli.tune.tune_experiment",
        f"tune base {ON_TOWN}",
        "no trial is finished, and the same command begins anew",
    ),
    ("experiments.runner.run_studies", "run base --data town --epsilon 1,2", GOES_ON),
    ("experiments.runner.run_studies", "sweep heterorr-gamma", GOES_ON),
    ("cli.paper.run_studies", "paper ppgnn/table3 --quick", GOES_ON),
    ("cli.one_run.embed_experiment", f"embed base {ON_TOWN} --out x.npz", ANEW),
    ("cli.one_run.predict_experiment", f"predict base {ON_TOWN} --out x.csv", ANEW),
    ("cli.analyses.run_campaign", f"attack attribute {ON_TOWN}", ANEW),
    ("cli.analyses.compare_rankings", f"attributes {ON_TOWN}", ANEW),
    ("cli.analyses.advise_budget", f"advise budget {ON_TOWN}", ANEW),
    ("cli.analyses.advise_levels", f"advise levels {ON_TOWN}", ANEW),
    ("cli.demo.run_demo", "demo", "nothing was computed yet; the same command begins anew"),
    (
        "cli.listings.print_result",
        "methods --json",
        "whatever was finished is kept; give the same command again",
    ),
]


@pytest.mark.parametrize(("interrupted", "words", "told"), CASES)
def test_an_interrupt_says_what_was_kept_and_how_to_go_on(
    interrupted, words, told, monkeypatch, own_folder, call
):
    def stop(*_, **__):
        raise KeyboardInterrupt

    module, _, name = interrupted.rpartition(".")
    # Commands have the names of their modules and hide them.
    monkeypatch.setattr(importlib.import_module(f"graphveil.{module}"), name, stop)
    printed = call(words, ends=130)
    assert printed.err.strip().splitlines()[-1] == f"Interrupted: {told}."
    assert printed.out == ""


def test_an_interrupt_in_a_graph_of_many_files_says_that_the_same_command_goes_on(
    tmp_path, monkeypatch, call
):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(one_run.scale, "compute_in_parts", stop)
    monkeypatch.setattr(one_run, "large_shards", lambda data: "a large one")
    for _ in range(2):
        told = call(f"predict base --data town --epsilon 4 --out {tmp_path / 'out'}", ends=130)
        assert "the same command goes on" in told.err
