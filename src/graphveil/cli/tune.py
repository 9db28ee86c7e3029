"""graphveil tune: the settings of a method that do best on validation users."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from graphveil.cli.console import (
    interrupted,
    on_interrupt,
    print_result,
    progress_bars,
    say_reused,
)
from graphveil.cli.options import AsJson, Computing, Options, default_file
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.store import ResultStore
from graphveil.experiments.table import Table
from graphveil.experiments.tuning import (
    TuningResult,
    check_search,
    search_jobs,
    tune_experiment,
    write_settings,
)
from graphveil.files import check_format, check_output
from graphveil.methods.terms import option
from graphveil.number_format import counted, exact_text, points


def tune(
    *,
    experiment: Annotated[
        Experiment,
        Options(
            without=("control",),
            default={"runs": 3},
            help={
                "runs": "How many runs a trial; run i uses seed S + i.",
                "seed": "The seed S of the first run, and of the search.",
            },
        ),
    ],
    trials: int = option(
        50, "How many settings to try at most: the whole grid if it has no more, else by TPE."
    ),
    computing: Annotated[
        Computing,
        Options(
            without=("checkpoint_every", "resume"),
            help={
                "jobs": "How many processes. auto: for a whole grid as many as there are idle processors; one for TPE, which sees results in another "
                "order by several; on Ray as many as it has.",
            },
        ),
    ],
    out: Path | None = option(
        None, "Where to write the best settings; METHOD-DATA-epsE.toml in this folder by default."
    ),
    as_json: AsJson = False,
) -> None:
    """Search a method's settings for those that do best on validation users, and write them to a file.

    What --set, --settings or --gamma fixes is not searched. The defaults are tried first. The highest mean validation score
    wins, between equals the lowest validation loss; where labels are private, both are measured against reported labels.
    Test labels are never read.

    Finished trials are kept: the same command goes on where it was interrupted, and with more --trials where it ended.
    Those of another version of graphveil are computed again unless --any-version is given.

    A search is for simulations: each of its runs draws reports of its own. In a collection every one would cost the whole
    budget again.

    Users that test in one split validate in another, so scores of tuned settings are slightly optimistic, as is standard
    practice: report them with another --seed than the search had.

    Example: graphveil tune base --data town --epsilon 4 --trials 20 --jobs 2

    Example: graphveil tune base --data town --epsilon 4 --trials 200 --engine ray://10.0.0.7:6379
    """
    space = check_search(experiment, trials, computing.jobs)
    engine = computing.resolved_engine
    engine.check_units("a search")
    file = check_output(out or default_file(experiment), option="--out")
    if file.suffix == ".json":
        # It would be read as JSON, and any other as TOML.
        check_format(file, (".toml",), "--out")
    jobs = search_jobs(experiment, space, trials, computing.jobs, engine)
    with on_interrupt("no trial is finished, and the same command begins anew"):
        store = ResultStore(any_version=computing.any_version)
        title, total = f"{experiment.method} on {experiment.data}", min(trials, space.size)
        with (
            say_reused(store.sentences),
            progress_bars(title, total, steps=engine.inside(jobs)) as bars,
        ):

            def watch(tuned: TuningResult) -> None:
                bars.count(len(tuned.trials), what=f"{title}, best {points(tuned.best.score)}")

            tuned = tune_experiment(
                experiment,
                trials=trials,
                jobs=jobs,
                engine=engine,
                store=store,
                watch=watch,
                inside=bars.step,
            )
    write_settings(tuned, file)
    files = {"file": str(file), "command": command(experiment, file)}
    print_result({**tuned.to_dict(), **files}, as_json, *shown(tuned, file))
    if tuned.interrupted:
        done = f"{len(tuned.trials)} of {tuned.total} trials are finished and kept"
        raise interrupted(f"{done}, the same command goes on from there")


def shown(tuned: TuningResult, file: Path) -> list[Table | str]:
    """Return the best settings beside the defaults, and how to use them."""
    best, defaults, spec = tuned.best, tuned.defaults, tuned.spec
    rows = [
        (key, exact_text(tuned.space.defaults[key]), exact_text(value)) for key, value in best.point.items()
    ]
    reached = points(None if defaults is None else defaults.score)
    rows.append((f"validation {best.metric}", reached, points(best.score)))
    kind = "all" if tuned.total == tuned.space.size else f"of {tuned.space.size} in the grid"
    return [
        Table.of([f"{spec.method} on {spec.data}", "default", "best"], rows),
        f"{len(tuned.trials)} of {tuned.total} trials ({kind}), {counted(spec.runs, 'run')} each; test labels were not read.",
        *(["The defaults are the best of what was tried."] if best is defaults else []),
        *(f"refused, {sentence}" for sentence in tuned.failed),
        f"The settings are in {file}. To use them, on other seeds than they were chosen on:",
        f"  {command(spec, file)}",
    ]


def command(spec: Experiment, file: Path) -> str:
    """Return the call that runs the tuned settings, from the first seed that the search has not used."""
    words = ["graphveil", "run", spec.method, "--data", spec.data]
    own = {name: getattr(spec, name) for name in ("task", "backbone")}
    given = {name: value for name, value in own.items() if value != getattr(spec.defaults, name)}
    limits = {name: value for name, value in spec.data_options.items() if name == "range"}
    for name, value in {**given, **spec.chosen, **limits}.items():
        words += [f"--{name.replace('_', '-')}", exact_text(value)]
    return shlex.join([*words, "--seed", str(spec.seed + spec.runs), "--settings", str(file)])
