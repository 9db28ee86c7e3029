"""Tune a method: search its settings by validation users, and never look at a test label."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import prod
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from graphveil.engine.engine import HERE, Engine
from graphveil.engine.pool import Arriving, computed
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.compute import remote_digest
from graphveil.experiments.database import check_writable, insert, select
from graphveil.experiments.experiment import (
    MECHANISM_PREFIX,
    Experiment,
    check_same,
    check_unchanged,
    input_digest,
    outside_digests,
    take_data,
)
from graphveil.experiments.experiment_file import HEADER, NONE, SETTINGS
from graphveil.experiments.unit import validate_unit
from graphveil.experiments.unit_store import Origin, Reuse, now, results_file, this_version
from graphveil.files import write_whole
from graphveil.graphs import Graph, Users
from graphveil.mechanisms import entry
from graphveil.methods import find_method, method_names
from graphveil.methods.method_settings import LABEL_GRID, LEVEL_GRID
from graphveil.outside import held
from graphveil.version import __version__

if TYPE_CHECKING:
    import optuna

Point = dict[str, Any]


@dataclass(frozen=True)
class Space:
    """The values of each setting that is searched; the default of each is one of them."""

    values: dict[str, tuple[Any, ...]]
    defaults: Point

    @classmethod
    def of(cls, spec: Experiment) -> Space:
        """The grid of the spec's method for what is private here, without the settings that the spec fixes."""
        method = find_method(spec.method)
        if not method.grid:
            searchable = [name for name in method_names() if find_method(name).grid]
            raise InputError(
                f"{spec.method} has no settings to search: tune one of {', '.join(searchable)} instead"
            )
        grid = dict(method.grid)
        if spec.budgets.label_epsilon is not None:
            grid |= LABEL_GRID
        if spec.budgets.link_epsilon is not None:
            grid |= method.link_grid
        if spec.has_levels and spec.levels.gamma is None:
            grid |= LEVEL_GRID
        free = {key: values for key, values in grid.items() if key not in spec.settings}
        if not free:
            raise InputError(
                f"all settings of {spec.method} that are searched are fixed: leave one of {', '.join(grid)} free"
            )
        start = spec.resolved_settings
        defaults = {
            key: _mechanism_default(spec.budgets.mechanism, key)
            if key.startswith(MECHANISM_PREFIX)
            else getattr(start, key)
            for key in free
        }
        return cls({key: _with(values, defaults[key]) for key, values in free.items()}, defaults)

    @property
    def size(self) -> int:
        """How many points there are."""
        return prod(len(values) for values in self.values.values())

    def points(self) -> Iterator[Point]:
        """All points, the defaults first."""
        yield self.defaults
        for chosen in product(*self.values.values()):
            point = dict(zip(self.values, chosen, strict=True))
            if point != self.defaults:
                yield point


def _mechanism_default(mechanism: str, key: str) -> Any:
    """What a mechanism takes where an option of its own, like mechanism.gamma, is not given."""
    return inspect.signature(entry(mechanism).build).parameters[key.removeprefix(MECHANISM_PREFIX)].default


def _with(values: tuple[Any, ...], default: Any) -> tuple[Any, ...]:
    return values if default in values else (*values, default)


ADD = "INSERT INTO trials (search, data, source, version, time, trial) VALUES (?, ?, ?, ?, ?, ?)"
# This version's first, then in the order in which they were finished.
FIND = """SELECT id, version, source, trial FROM trials WHERE search = ? AND data = ?
    ORDER BY source = ? DESC, id"""


@dataclass(frozen=True)
class Trial:
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


class TrialStore:
    """The finished trials of searches in the file of results; what is unfinished is not in it.

    Trials that another version has computed are found only with ``any_version``; what was found is in ``reuse``.
    """

    def __init__(self, file: Path, any_version: bool = False) -> None:
        self.file = file
        self.reuse = Reuse(any_version)

    def check(self) -> None:
        """Refuse, before anything is computed, a file that could not be written."""
        # What runs from now on is what was there now, whatever is written into the source meanwhile.
        this_version()
        check_writable(self.file)

    def add(self, spec: Experiment, space: Space, trial: Trial) -> None:
        """Keep a finished trial; it is on the disk when this returns."""
        origin = this_version()
        record = (origin.source, origin.version, now(), json.dumps(asdict(trial)))
        insert(self.file, ADD, (*_key(spec, space), *record))

    def find(self, spec: Experiment, space: Space) -> list[Trial]:
        """The finished trials, each point once, the defaults first and the others as they were finished."""
        source = this_version().source
        (rows,) = select(self.file, FIND, (*_key(spec, space), source))
        trials: list[Trial] = []
        for number, *computed_by, text in rows:
            origin = Origin(*map(str, computed_by))
            usable = origin.source == source or self.reuse.any_version
            trial = read_trial(text, spec.runs, space)
            if trial is None:
                self.reuse.broken |= {number} if usable else set()
            elif all(trial.point != other.point for other in trials):
                trials += [trial] if usable else []
                if origin.source != source:
                    (self.reuse.taken if usable else self.reuse.left)[number] = origin
        return sorted(trials, key=lambda trial: trial.point != space.defaults)

    def sentences(self) -> list[str]:
        """What has to be said about what was found."""
        return self.reuse.sentences("trials")


def read_trial(text: Any, runs: int, space: Space) -> Trial | None:
    """A trial as it was kept; None where the record is damaged."""
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


_TRIAL = TypeAdapter(Trial)


def _key(spec: Experiment, space: Space) -> tuple[str, str]:
    """All that decides the numbers of a search's trials, however many they are: what is searched, and the data."""
    whole = [asdict(spec.having(control=True)), outside_digests(spec), asdict(space)]
    return json.dumps(whole, sort_keys=True, default=str), input_digest(spec)


def as_optuna(trial: Trial, space: Space) -> optuna.trial.FrozenTrial:
    """A finished trial as optuna knows it."""
    import optuna

    attrs = {"metric": trial.metric, "scores": list(trial.scores), "losses": list(trial.losses)}
    return optuna.trial.create_trial(
        params=trial.point, distributions=distributions(space), value=trial.score, user_attrs=attrs
    )


def distributions(space: Space) -> dict[str, Any]:
    """The space as optuna knows it: every setting is one of its values."""
    from optuna.distributions import CategoricalDistribution

    return {key: CategoricalDistribution(values) for key, values in space.values.items()}


@contextmanager
def quiet() -> Iterator[None]:
    """Let optuna say nothing inside but what went wrong."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


# How often TPE is asked when all that it names was tried; after that the first untried point is taken.
ATTEMPTS = 100


def suggest(
    space: Space, finished: Sequence[Trial], others: Sequence[Point], seed: int, *, whole: bool
) -> Point:
    """An untried point: the defaults first, then one after the other, or by TPE if not the ``whole`` space is searched.

    It depends on nothing but its arguments, so a search that goes on suggests what it would have without a break.
    ``others`` are points that are being tried or have failed. A point is tried once: its numbers would be the same.
    """
    tried = [trial.point for trial in finished] + list(others)
    if not whole and space.defaults in tried:
        point = _by_tpe(space, finished, tried, seed)
        if point is not None:
            return point
    return next(point for point in space.points() if point not in tried)


def _by_tpe(space: Space, finished: Sequence[Trial], tried: list[Point], seed: int) -> Point | None:
    """A point by the tree-structured Parzen estimator (Bergstra et al. 2011) from the trials so far."""
    import optuna
    from optuna.trial import TrialState, create_trial

    random = np.random.default_rng([seed, len(tried)])
    with quiet():
        sampler = optuna.samplers.TPESampler(seed=int(random.integers(2**32)))
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.add_trials(as_optuna(trial, space) for trial in finished)
        # What is being tried elsewhere is counted as bad until it is finished, so that nobody else tries the like.
        for point in tried[len(finished) :]:
            study.add_trial(
                create_trial(state=TrialState.RUNNING, params=point, distributions=distributions(space))
            )
        for _ in range(ATTEMPTS):
            asked = study.ask(distributions(space))
            point = {key: asked.params[key] for key in space.values}
            for candidate in (point, _neighbour(point, space, random)):
                if candidate not in tried:
                    return candidate
            study.tell(asked, state=TrialState.FAIL)
    return None


def _neighbour(point: Point, space: Space, random: np.random.Generator) -> Point:
    """The same point but for one setting."""
    key = str(random.choice([key for key, values in space.values.items() if len(values) > 1]))
    others = [value for value in space.values[key] if value != point[key]]
    return {**point, key: others[int(random.integers(len(others)))]}


TRIALS = 50
# Told what is being done inside a trial and which share of it is done (only without parallel processes).
Inside = Callable[[str, float], None]
Given = tuple[Graph, Users] | None
# A tried point with its trial, or with why it could not be tried.
Tried = tuple[Point, Trial | GraphveilError]


@dataclass(frozen=True)
class Tuned:
    """What a search has found so far: its finished trials, the defaults first."""

    spec: Experiment
    space: Space
    trials: tuple[Trial, ...]
    total: int
    failed: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def best(self) -> Trial:
        """The trial of the highest mean validation score, between equals of the lowest loss, then the first."""
        if not self.trials:
            raise InputError("no trial is finished, so there is no best one: let the search go on")
        return max(self.trials, key=lambda trial: trial.rank)

    @property
    def defaults(self) -> Trial | None:
        """The trial of the default settings, once it is finished."""
        return next((trial for trial in self.trials if trial.point == self.space.defaults), None)

    @property
    def settings(self) -> dict[str, Any]:
        """The best settings, together with those that were fixed."""
        return {**self.spec.settings, **self.best.point}

    def to_dict(self) -> dict[str, Any]:
        """The result in the form that `--json` prints."""
        spec, best, defaults = self.spec, self.best, self.defaults
        return {
            "method": spec.method,
            "data": spec.data,
            "task": spec.task,
            "metric": best.metric,
            "epsilon": spec.budgets.epsilon,
            "mechanism": spec.budgets.mechanism if spec.budgets.epsilon is not None else None,
            "backbone": spec.backbone,
            "label_epsilon": spec.budgets.label_epsilon,
            "link_epsilon": spec.budgets.link_epsilon,
            **spec.chosen,
            "seed": spec.seed,
            "runs": spec.runs,
            "version": __version__,
            "settings": self.settings,
            "validation": {"runs": list(best.scores), "mean": best.score},
            "defaults": {
                "settings": self.space.defaults,
                "validation": defaults and {"runs": list(defaults.scores), "mean": defaults.score},
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
    jobs: int | None = None,
    engine: str | Engine = HERE,
    keep: bool = True,
    store: TrialStore | None = None,
    watch: Callable[[Tuned], None] | None = None,
    inside: Inside | None = None,
    **options: Any,
) -> Tuned:
    """Search the settings of a method on a dataset (a name or a path, a graph with its users, or PyG's Data).

    Options are the fields of `Experiment`; ``settings`` are fixed and not searched. Trials on named data are kept, as the command line
    keeps them, so that the same search goes on where it stopped, unless ``keep`` is False. The best settings are
    ``tuned.settings``, for ``gv.run(..., settings=tuned.settings)``. Users that test in one split validate in another, so scores of tuned settings are slightly optimistic, as
    is standard practice: report with other seeds than those of the search.
    """
    name, given, options = take_data(data, users, options)
    spec = Experiment.of(method, name, **options)
    if store is None and keep and given is None:
        store = TrialStore(results_file())
    return tune_experiment(
        spec,
        trials=trials,
        jobs=jobs,
        engine=Engine.of(engine),
        store=store,
        watch=watch,
        inside=inside,
        given=given,
    )


@held()
def tune_experiment(
    spec: Experiment,
    *,
    trials: int = TRIALS,
    jobs: int | None = None,
    engine: Engine = HERE,
    store: TrialStore | None = None,
    watch: Callable[[Tuned], None] | None = None,
    inside: Inside | None = None,
    given: Given = None,
) -> Tuned:
    """Search for the settings with the highest mean validation score over the runs of a spec.

    Scores and not losses are compared: the losses of two settings need not be the same quantity, while reported labels
    lower every accuracy by the same factor and leave the order of the settings, in expectation, as it is.
    The whole grid is tried if it has at most ``trials`` points, else TPE chooses. Without parallel processes the result
    depends on the seed alone; with them TPE sees results in another order, a whole grid gives the same. An interrupt
    returns what there is, marked as interrupted, if there is anything.
    """
    engine.check_units("a search")
    space = check_search(spec, trials, jobs)
    total = min(trials, space.size)
    kept = None if store is None else _Kept(spec, space, store, given)
    so_far = Tuned(spec, space, () if kept is None else kept.find(total), total)
    if watch is not None and so_far.trials:
        watch(so_far)
    todo = total - len(so_far.trials)
    search = _Search(so_far, spec.seed)
    results = (
        _parallel(search, todo, jobs, engine, given)
        if engine.outside(jobs, todo)
        else _serial(search, todo, inside, given)
    )
    try:
        for result in results:
            if search.note(*result, kept) and watch is not None:
                watch(search.so_far)
    except KeyboardInterrupt:
        # A trial may have been written to the file just before: the file knows.
        finished = search.so_far.trials if kept is None else kept.find(total)
        if not finished:
            raise
        return replace(search.so_far, trials=finished, interrupted=True)
    return search.so_far


def check_search(spec: Experiment, trials: int, jobs: int | None) -> Space:
    """Refuse what cannot be searched, before anything heavy is imported; else the space to search."""
    spec.check()
    for name, number in (("trials", trials), ("jobs", 1 if jobs is None else jobs)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InputError(f"{name} must be an integer of at least 1, got {number!r}")
    return Space.of(spec)


class _Kept:
    """The part of a store that is this search's."""

    def __init__(self, spec: Experiment, space: Space, store: TrialStore, given: Given) -> None:
        if given is not None:
            raise InputError(
                "a graph that is given has no name by which its trials could be found again: leave out the store, or write "
                "the graph to an .npz file and name that"
            )
        self.spec, self.space, self.store = spec, space, store
        store.check()
        self.inputs = input_digest(spec)

    def find(self, most: int) -> tuple[Trial, ...]:
        """The first trials that are there, as many as are wanted."""
        return tuple(self.store.find(self.spec, self.space)[:most])

    def add(self, trial: Trial) -> None:
        """Keep a finished trial, as long as the data is what it was."""
        check_unchanged(self.spec, self.inputs)
        self.store.add(self.spec, self.space, trial)


class _Search:
    """What has been found, what is being tried, and what comes next."""

    def __init__(self, so_far: Tuned, seed: int) -> None:
        self.so_far, self.seed = so_far, seed
        # Being tried, or tried in vain.
        self.others: list[Point] = []

    def next(self) -> Point:
        """The next point; it counts as being tried from now on."""
        space = self.so_far.space
        whole = self.so_far.total == space.size
        point = suggest(space, self.so_far.trials, self.others, self.seed, whole=whole)
        self.others.append(point)
        return point

    def note(self, point: Point, result: Trial | GraphveilError, kept: _Kept | None) -> bool:
        """Keep what came of a point. The defaults must work; other settings may be refused. Whether it is finished."""
        if isinstance(result, GraphveilError):
            if point == self.so_far.space.defaults:
                raise result
            chosen = ", ".join(f"{key}={value}" for key, value in point.items())
            self.so_far = replace(self.so_far, failed=(*self.so_far.failed, f"{chosen}: {result}"))
            return False
        if kept is not None:
            kept.add(result)
        self.others.remove(point)
        trials = sorted(
            (*self.so_far.trials, result), key=lambda trial: trial.point != self.so_far.space.defaults
        )
        self.so_far = replace(self.so_far, trials=tuple(trials))
        return True


def _serial(search: _Search, todo: int, inside: Inside | None, given: Given) -> Iterator[Tried]:
    for _ in range(todo):
        yield _try(search.so_far.spec, search.next(), inside, given)


def _parallel(search: _Search, todo: int, jobs: int | None, engine: Engine, given: Given) -> Iterator[Tried]:
    """Trials outside this process, in the order in which they finish; this process alone suggests and keeps."""
    digest = remote_digest(search.so_far.spec, "method", given)
    with engine.pool(jobs, todo) as pool:
        arriving: Arriving[Tried] = Arriving()
        while todo or arriving:
            while todo and len(arriving) < pool.count:
                arriving.add(pool.submit(_try_elsewhere, search.so_far.spec, search.next(), given, digest))
                todo -= 1
            yield computed(arriving.next())


def _try_elsewhere(spec: Experiment, point: Point, given: Given, digest: str | None) -> Tried:
    """A point, where the data are those of the digest."""
    spec.load_code()
    if digest is not None:
        check_same(spec, digest)
    return _try(spec, point, None, given)


def _try(spec: Experiment, point: Point, inside: Inside | None, given: Given) -> Tried:
    """All runs of one point; what graphveil refuses is returned, so that the search can go on."""
    chosen = spec.having(settings={**spec.settings, **point})
    runs = []
    try:
        for number in range(spec.runs):

            def tell(what: str, share: float, number: int = number) -> None:
                if inside is not None:
                    inside(what, (number + share) / spec.runs)

            runs.append(validate_unit(chosen, number, tell, given))
    except GraphveilError as error:
        return point, error
    return point, Trial(
        point, runs[0].metric, tuple(run.score for run in runs), tuple(run.loss for run in runs)
    )


def write_settings(tuned: Tuned, file: Path) -> None:
    """The best settings as TOML, below how they were found."""
    fields = tuned.to_dict()
    kept = ("method", "data", "epsilon", "mechanism", "backbone", *tuned.spec.chosen, "seed", "runs")
    header = {key: fields[key] for key in dict.fromkeys(kept) if fields[key] is not None}
    header |= {"trials": len(tuned.trials), "metric": fields["metric"], "validation": tuned.best.score}
    if tuned.defaults is not None:
        header["validation_of_defaults"] = tuned.defaults.score
    header["version"] = fields["version"]
    tables = {HEADER: header, SETTINGS: tuned.settings}
    write_whole(file, "\n".join(_toml_table(name, rows) for name, rows in tables.items()).encode())


def _toml_table(name: str, rows: dict[str, Any]) -> str:
    return "".join(
        [f"[{name}]\n", *(f"{_toml_key(key)} = {_toml_value(value)}\n" for key, value in rows.items())]
    )


def _toml_key(key: str) -> str:
    # A dot would open a table.
    return json.dumps(key) if "." in key else key


def _toml_value(value: Any) -> str:
    """A number, true, false or a text as TOML writes it.

    >>> [_toml_value(value) for value in (1, 1e-05, True, None, "selu")]
    ['1', '1e-05', 'true', '"none"', '"selu"']
    """
    if value is None:
        value = NONE
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)
