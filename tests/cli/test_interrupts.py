"""Ctrl-C in every long command: status 130, and one sentence on what was kept and how to go on."""

import importlib

import pytest

ANEW = "nothing was written, and the same command begins anew"
GOES_ON = "every finished run is kept, and the same command goes on from there"
ON_TOWN = "--data town --epsilon 1"
# What is interrupted, in which command, and what is said.
CASES = [
    (
        "experiments.runner.compute_unit",
        ["run", "base", *ON_TOWN],
        f"no run of base is finished; {GOES_ON}",
    ),
    (
        "cli.tune.tune_experiment",
        ["tune", "base", *ON_TOWN],
        "no trial is finished, and the same command begins anew",
    ),
    ("experiments.runner.run_studies", ["run", "base", "--data", "town", "--epsilon", "1,2"], GOES_ON),
    ("experiments.runner.run_studies", ["sweep", "heterorr-gamma"], GOES_ON),
    ("cli.paper.run_studies", ["paper", "ppgnn/table3", "--quick"], GOES_ON),
    ("cli.one_run.embed_experiment", ["embed", "base", *ON_TOWN, "--out", "x.npz"], ANEW),
    ("cli.one_run.predict_experiment", ["predict", "base", *ON_TOWN, "--out", "x.csv"], ANEW),
    ("cli.analyses.run_campaign", ["attack", "attribute", *ON_TOWN], ANEW),
    ("cli.analyses.compare_rankings", ["attributes", *ON_TOWN], ANEW),
    ("cli.analyses.advise_budget", ["advise", "budget", *ON_TOWN], ANEW),
    ("cli.analyses.advise_levels", ["advise", "levels", *ON_TOWN], ANEW),
    ("cli.demo.run_demo", ["demo"], "nothing was computed yet; the same command begins anew"),
    (
        "cli.listings.print_result",
        ["methods", "--json"],
        "whatever was finished is kept; give the same command again",
    ),
]


@pytest.mark.parametrize(
    ("interrupted", "words", "told"), CASES, ids=[" ".join(case[1][:2]) for case in CASES]
)
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
