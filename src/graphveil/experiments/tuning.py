"""Tune a method: search its settings by validation users, and never look at a test label."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import prod
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from graphveil.checks import check_whole
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.engine import (
    AUTO,
    HERE,
    LOCAL,
    Engine,
    FinishedCalls,
    Jobs,
    call_result,
    check_jobs,
)
from graphveil.experiments.experiment import (
    MECHANISM_PREFIX,
    Experiment,
    Given,
    check_same,
    extension_digests,
    input_digest,
    take_data,
)
from graphveil.experiments.experiment_file import HEADER, NONE, SETTINGS
from graphveil.experiments.runner import RunOptions, with_job_count
from graphveil.experiments.store import ResultStore
from graphveil.experiments.unit import RunUnit, Validation, validate_unit
from graphveil.files import toml_value, write_whole
from graphveil.graphs import Users
from graphveil.mechanisms import entry
from graphveil.methods import METHODS
from graphveil.methods.job import Progress
from graphveil.methods.method import LABEL_GRID, LEVEL_GRID
from graphveil.plugins import held

Point = dict[str, Any]


@dataclass(frozen=True)
class SearchSpace:
    """The values of each setting that is searched; the default of each is one of them."""

    values: dict[str, tuple[Any, ...]]
    defaults: Point

    @classmethod
    def of(cls, spec: Experiment) -> SearchSpace:
        """Return the grid of an experiment's method for what is private in it, without the settings that it fixes."""
        method = spec.resolved_method
        if not method.grid:
            searchable = ", ".join(name for name in METHODS.own() if METHODS.find(name).grid)
            raise InputError(f"{spec.method} has no settings to search: tune one of {searchable}")
        grid = dict(method.grid)
        if spec.budgets.label_epsilon is not None:
            grid |= LABEL_GRID
        if spec.budgets.link_epsilon is not None:
            grid |= method.links.grid
        if spec.has_levels and spec.levels.gamma is None:
            grid |= LEVEL_GRID
        defaults = {key: _default(spec, key) for key in grid if key not in spec.settings}
        if not defaults:
            free = f"leave one of {', '.join(grid)} free"
            raise InputError(f"all settings of {spec.method} that are searched are fixed: {free}")
        values = {
            key: grid[key] if default in grid[key] else (*grid[key], default)
            for key, default in defaults.items()
        }
        return cls(values, defaults)

    @property
    def size(self) -> int:
        """The number of points."""
        return prod(len(values) for values in self.values.values())

    def points(self) -> Iterator[Point]:
        """Yield all points, the defaults first."""
        yield self.defaults
        for chosen in product(*self.values.values()):
            point = dict(zip(self.values, chosen, strict=True))
            if point != self.defaults:
                yield point

    def defaults_first(self, trials: Iterable[TuningTrial]) -> list[TuningTrial]:
        """Return trials with that of the defaults first, and all others in their order."""
        return sorted(trials, key=lambda trial: trial.point != self.defaults)


def _default(spec: Experiment, key: str) -> Any:
    """The value of a setting that is not given: the method's, or for one like mechanism.gamma the mechanism's."""
    if key.startswith(MECHANISM_PREFIX):
        parameters = inspect.signature(entry(spec.budgets.mechanism).build).parameters
        return parameters[key.removeprefix(MECHANISM_PREFIX)].default
    return getattr(spec.resolved_settings, key)


@dataclass(frozen=True)
class TuningTrial:
    """A point of the search, and its validation scores and losses run by run."""

    point: Point
    metric: str
    scores: tuple[float, ...]
    losses: tuple[float, ...]

    @property
    def score(self) -> float:
        """The mean validation score, 0..1."""
        return fmean(self.scores)

    @property
    def rank(self) -> tuple[float, float]:
        """The higher the better: by the mean score, between equals by the lower mean loss."""
        loss = fmean(self.losses)
        return self.score, -math.inf if math.isnan(loss) else -loss

    def to_dict(self) -> dict[str, Any]:
        """Return its validation scores in the form that `--json` prints."""
        return {"runs": list(self.scores), "mean": self.score}


def add_trial(store: ResultStore, spec: Experiment, space: SearchSpace, trial: TuningTrial) -> None:
    """Store a finished trial; it is on disk when this returns.

    Parameters
    ----------
    store
        The file of results.
    spec, space
        The experiment and the space that are searched.
    trial
        The trial.
    """
    store.add_trial(*_key(spec, space), asdict(trial))


def find_trials(store: ResultStore, spec: Experiment, space: SearchSpace) -> list[TuningTrial]:
    """Return the finished trials, each point once: the defaults first, the others in order of finishing.

    Parameters
    ----------
    store
        The file of results.
    spec, space
        The experiment and the space that are searched.
    """
    found = store.find_trials(
        *_key(spec, space), lambda text: read_trial(text, spec.runs, space), lambda trial: trial.point
    )
    return space.defaults_first(found)


def read_trial(text: Any, runs: int, space: SearchSpace) -> TuningTrial | None:
    """Return a stored trial; None if the record is damaged or does not fit.

    Parameters
    ----------
    text
        The record, as JSON.
    runs
        The number of runs of a trial.
    space
        The space that is searched.
    """
    try:
        trial = _TRIAL.validate_json(text, strict=True)
    except (ValidationError, TypeError):
        return None
    if {len(trial.scores), len(trial.losses)} != {runs} or trial.point.keys() != space.values.keys():
        return None
    if any(trial.point[key] not in values for key, values in space.values.items()):
        return None
    # The order of a point's settings is the space's, whatever the record has.
    return replace(trial, point={key: trial.point[key] for key in space.values})


_TRIAL = TypeAdapter(TuningTrial)


def _key(spec: Experiment, space: SearchSpace) -> tuple[str, str]:
    """All that decides the numbers of a search's trials, however many they are: what is searched, and the data."""
    whole = [asdict(spec.having(control=True)), extension_digests(spec), asdict(space)]
    return json.dumps(whole, sort_keys=True, default=str), input_digest(spec)


# How often TPE is asked when all that it names was tried; after that the first untried point is taken.
ATTEMPTS = 100


def suggest(
    space: SearchSpace, finished: Sequence[TuningTrial], others: Sequence[Point], seed: int, *, whole: bool
) -> Point:
    """Return an untried point, the defaults first.

    It depends only on its arguments, so a continued search suggests what it would have without a break. A
    point is tried once: its numbers would be the same.

    Parameters
    ----------
    others
        Points that are being tried or have failed.
    whole
        Whether the whole space is searched, point by point, instead of by TPE.
    """
    tried = [trial.point for trial in finished] + list(others)
    if not whole and space.defaults in tried:
        point = _by_tpe(space, finished, tried, seed)
        if point is not None:
            return point
    return next(point for point in space.points() if point not in tried)


def _by_tpe(
    space: SearchSpace, finished: Sequence[TuningTrial], tried: list[Point], seed: int
) -> Point | None:
    """A point by the tree-structured Parzen estimator (Bergstra et al. 2011) from the trials so far."""
    import optuna
    from optuna.trial import TrialState, create_trial

    random = np.random.default_rng([seed, len(tried)])
    choices: Any = {
        key: optuna.distributions.CategoricalDistribution(values) for key, values in space.values.items()
    }
    with ExitStack() as ending:
        # Optuna reports nothing but what went wrong.
        ending.callback(optuna.logging.set_verbosity, optuna.logging.get_verbosity())
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=int(random.integers(2**32)))
        study = optuna.create_study(direction="maximize", sampler=sampler)
        for trial in finished:
            study.add_trial(create_trial(params=trial.point, distributions=choices, value=trial.score))
        # What is being tried elsewhere is counted as bad until it is finished, so that nobody else tries the like.
        for point in tried[len(finished) :]:
            study.add_trial(create_trial(state=TrialState.RUNNING, params=point, distributions=choices))
        for _ in range(ATTEMPTS):
            asked = study.ask(choices)
            point = {key: asked.params[key] for key in space.values}
            for candidate in (point, _neighbour(point, space, random)):
                if candidate not in tried:
                    return candidate
            study.tell(asked, state=TrialState.FAIL)
    return None


def _neighbour(point: Point, space: SearchSpace, random: np.random.Generator) -> Point:
    """The same point but for one setting."""
    key = str(random.choice([key for key, values in space.values.items() if len(values) > 1]))
    others = [value for value in space.values[key] if value != point[key]]
    return {**point, key: others[int(random.integers(len(others)))]}


TRIALS = 50


@dataclass(frozen=True)
class TuningResult:
    """The finished trials of a search so far, the defaults first; ``failed`` says which settings were refused, and why."""

    spec: Experiment
    space: SearchSpace
    trials: tuple[TuningTrial, ...]
    total: int
    failed: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def best(self) -> TuningTrial:
        """The trial of the highest mean validation score, between equals of the lowest loss, then the first."""
        if not self.trials:
            raise InputError("no trial is finished, so there is no best one: let the search go on")
        return max(self.trials, key=lambda trial: trial.rank)

    @property
    def defaults(self) -> TuningTrial | None:
        """The trial of the default settings, once it is finished."""
        return next((trial for trial in self.trials if trial.point == self.space.defaults), None)

    @property
    def settings(self) -> dict[str, Any]:
        """The best settings, together with those that were fixed."""
        return {**self.spec.settings, **self.best.point}

    def to_dict(self) -> dict[str, Any]:
        """Return the result in the form that `--json` prints."""
        spec, budgets, defaults = self.spec, self.spec.budgets, self.defaults
        return {
            **spec.about(),
            "metric": self.best.metric,
            "label_epsilon": budgets.label_epsilon,
            "link_epsilon": budgets.link_epsilon,
            **spec.chosen,
            "runs": spec.runs,
            "settings": self.settings,
            "validation": self.best.to_dict(),
            "defaults": {
                "settings": self.space.defaults,
                "validation": defaults and defaults.to_dict(),
            },
            "trials": {"done": len(self.trials), "total": self.total, "failed": list(self.failed)},
            "interrupted": self.interrupted,
        }


def tune(
    method: str,
    data: Any,
    users: Users | None = None,
    *,
    trials: int = TRIALS,
    jobs: Jobs = None,
    engine: str | Engine = HERE,
    keep: bool = True,
    watch: Callable[[TuningResult], None] | None = None,
    inside: Progress | None = None,
    **options: Any,
) -> TuningResult:
    """Search the settings of a method on a dataset.

    The best settings are ``tuned.settings``, for ``gv.run(..., settings=tuned.settings)``. Users that test in
    one split validate in another, so scores of tuned settings are slightly optimistic, as is standard
    practice: report with other seeds than those of the search.

    Parameters
    ----------
    data, users, jobs, engine
        As in `run`.
    trials
        The most points to try.
    keep
        Whether to keep trials on named data, so that the same search continues where it stopped.
    watch
        Called with the result so far after each trial.
    inside
        Called inside a trial with the current step and the share that is done; only without parallel
        processes.
    options
        Fields of `Experiment`; ``settings`` are fixed and not searched.
    """
    name, given, options = take_data(data, users, options)
    return tune_experiment(
        Experiment.of(method, name, **options),
        trials=trials,
        jobs=jobs,
        engine=Engine.of(engine),
        store=ResultStore() if keep else None,
        watch=watch,
        inside=inside,
        given=given,
    )


@held()
def tune_experiment(
    spec: Experiment,
    *,
    trials: int = TRIALS,
    jobs: Jobs = None,
    engine: Engine = HERE,
    store: ResultStore | None = None,
    watch: Callable[[TuningResult], None] | None = None,
    inside: Progress | None = None,
    given: Given | None = None,
) -> TuningResult:
    """Search for the settings with the highest mean validation score over the runs of an experiment.

    Scores and not losses are compared: the losses of two settings need not be the same quantity, while
    reported labels lower every accuracy by the same factor and leave the order of the settings, in
    expectation, as it is. Without parallel processes the result depends on the seed alone. With them TPE sees
    results in another order; a whole grid gives the same. An interrupt returns the finished trials, if any,
    marked as interrupted.

    Parameters
    ----------
    trials
        The most points to try. The whole grid is tried if it is not larger, else TPE chooses.
    store
        Keeps finished trials of named data, and finds them again.
    watch
        Called with the result so far after each trial.
    inside
        Called inside a trial with the current step and the share that is done; only without parallel
        processes.
    given
        Graph and users, if these are objects.
    """
    engine.check_units("a search")
    space = check_search(spec, trials, jobs)
    if given is not None:
        # It has no name by which its trials could be found again.
        store = None
    if store is not None:
        store.check()
    search = _Search(TuningResult(spec, space, (), min(trials, space.size)), store, given)
    if watch is not None and search.result.trials:
        watch(search.result)
    try:
        for point, trial in search.tried(
            search_jobs(spec, space, trials, jobs, engine, given), engine, inside
        ):
            search.add(point, trial)
            if watch is not None and not isinstance(trial, GraphveilError):
                watch(search.result)
    except KeyboardInterrupt:
        # A trial may have been written to the file just before: the file knows.
        search.read()
        if not search.result.trials:
            raise
        return replace(search.result, interrupted=True)
    return search.result


def search_jobs(
    spec: Experiment, space: SearchSpace, trials: int, jobs: Jobs, engine: Engine, given: Given | None = None
) -> Jobs:
    """Return how many trials are computed at a time. TPE would see results in another order by several: for it, ``auto`` is one."""
    whole = space.size <= trials
    if jobs == AUTO and engine.name == LOCAL and not whole:
        return None
    experiments = [replace(spec, control=False)] * min(trials, space.size)
    return with_job_count(RunOptions(jobs, engine), experiments, given).jobs


def check_search(spec: Experiment, trials: int, jobs: Jobs) -> SearchSpace:
    """Return the space to search; reject what cannot be searched before anything heavy is imported.

    Parameters
    ----------
    spec
        The experiment.
    trials
        The most points to try.
    jobs
        The number of processes; None for one.
    """
    spec.check()
    check_whole(trials, "--trials", least=1)
    check_jobs(jobs)
    return SearchSpace.of(spec)


class _Search:
    """A search that goes on: its result so far, the file that keeps it, and the points that are being tried or have failed."""

    def __init__(self, empty: TuningResult, store: ResultStore | None, given: Given | None) -> None:
        self.result, self.store, self.given = empty, store, given
        self.digest = RunUnit(empty.spec, given=given).digest
        self.others: list[Point] = []
        self.read()

    def read(self) -> None:
        """Take the trials from the file, if there is one: the first ones, as many as are wanted."""
        if self.store is not None:
            trials = find_trials(self.store, self.result.spec, self.result.space)
            self.result = replace(self.result, trials=tuple(trials[: self.result.total]))

    def next(self) -> Point:
        """Return the next point; it counts as being tried from now on."""
        space, whole = self.result.space, self.result.total == self.result.space.size
        point = suggest(space, self.result.trials, self.others, self.result.spec.seed, whole=whole)
        self.others.append(point)
        return point

    def tried(
        self, jobs: Jobs, engine: Engine, inside: Progress | None
    ) -> Iterator[tuple[Point, TuningTrial | GraphveilError]]:
        """Yield points with their trial or error as they finish; only this process suggests and stores.

        Parameters
        ----------
        jobs
            The number of processes.
        engine
            The engine that computes.
        inside
            Called inside a trial with the current step and the share that is done, where trials run in this process.
        """
        spec, todo = self.result.spec, self.result.total - len(self.result.trials)
        if engine.inside(jobs) or not todo:
            for _ in range(todo):
                yield _try(spec, self.next(), self.given, self.digest, inside)
            return
        with engine.pool(jobs, todo) as pool:
            calls: FinishedCalls[tuple[Point, TuningTrial | GraphveilError]] = FinishedCalls()
            while todo or calls:
                while todo and len(calls) < pool.count:
                    calls.add(pool.submit(_try, spec, self.next(), self.given, self.digest))
                    todo -= 1
                yield call_result(calls.next())

    def add(self, point: Point, trial: TuningTrial | GraphveilError) -> None:
        """Keep what came of a point. The defaults must work; other settings may be refused."""
        result = self.result
        if isinstance(trial, GraphveilError):
            if point == result.space.defaults:
                raise trial
            chosen = ", ".join(f"{key}={value}" for key, value in point.items())
            self.result = replace(result, failed=(*result.failed, f"{chosen}: {trial}"))
            return
        if self.store is not None:
            assert self.digest is not None
            check_same(result.spec, self.digest)
            add_trial(self.store, result.spec, result.space, trial)
        self.others.remove(point)
        trials = result.space.defaults_first((*result.trials, trial))
        self.result = replace(result, trials=tuple(trials))


def _try(
    spec: Experiment, point: Point, given: Given | None, digest: str | None, inside: Progress | None = None
) -> tuple[Point, TuningTrial | GraphveilError]:
    """Return a point with all its runs, here or in another process; what graphveil refuses is returned, so that the search can go on."""
    RunUnit(spec).check_elsewhere(digest)
    chosen = spec.having(settings={**spec.settings, **point})
    runs: list[Validation] = []

    def tell(what: str, share: float) -> None:
        if inside is not None:
            inside(what, (len(runs) + share) / spec.runs)

    try:
        for number in range(spec.runs):
            runs.append(validate_unit(chosen, number, tell, given))
    except GraphveilError as error:
        return point, error
    scores, losses = tuple(run.score for run in runs), tuple(run.loss for run in runs)
    return point, TuningTrial(point, runs[0].metric, scores, losses)


def write_settings(tuned: TuningResult, file: Path) -> None:
    """Write the best settings as TOML, below how they were found."""
    fields = tuned.to_dict()
    names = ("method", "data", "epsilon", "mechanism", "backbone", *tuned.spec.chosen, "seed", "runs")
    header = {key: fields[key] for key in dict.fromkeys(names) if fields[key] is not None}
    header |= {"trials": len(tuned.trials), "metric": fields["metric"], "validation": tuned.best.score}
    if tuned.defaults is not None:
        header["validation_of_defaults"] = tuned.defaults.score
    header["version"] = fields["version"]
    tables = (_toml_table(HEADER, header), _toml_table(SETTINGS, tuned.settings))
    write_whole(file, "\n".join(tables))


def _toml_table(name: str, rows: dict[str, Any]) -> str:
    lines = [f"[{name}]\n"]
    for key, value in rows.items():
        # A dot in a key would open a table.
        written = toml_value(key) if "." in key else key
        lines.append(f"{written} = {toml_value(NONE if value is None else value)}\n")
    return "".join(lines)
