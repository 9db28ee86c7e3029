"""The terms of an experiment: records that the command line, a spec, a job and a stored result share.

A field that stands here is an option of every command that runs an experiment, a field of its TOML file, a keyword of `gv.run`
and a part of what is stored. Code that acts on it reads it from the record. The ``title`` of a record is that of its options in `--help`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar

from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError, option_name
from graphveil.graphs.users import DISTRIBUTIONS, SILENCES, draw_levels, level_source
from graphveil.mechanisms import entry, names
from graphveil.mechanisms.limits import check_budget
from graphveil.plugins import unknown_name

# Where to learn: auto takes a GPU if there is one.
DEVICES = ("auto", "cpu", "cuda")
# Squares of norms are computed with.
NORM_BOUNDS = (1e-100, 1e100)


def described(sentence: str, *names: str, positional: bool = False, **typer: Any) -> dict[str, Any]:
    """Return the metadata of a field that is an option of commands.

    Parameters
    ----------
    sentence
        What `--help` says of it.
    names
        How it is spelled where that is not the field's own name.
    positional
        Whether it is given by its place among the words of a command.
    typer
        What else typer takes: metavar, min, max.
    """
    return {"help": sentence, "names": names, "positional": positional, "typer": typer}


def option(default: Any, sentence: str, *names: str, positional: bool = False, **typer: Any) -> Any:
    """Return a field that is an option of commands, with its default (``...`` where it must be given); see `described`.

    It stands in a data class, or as the default of a command's own parameter.

    Parameters
    ----------
    default
        The default.
    sentence, names, positional
        As `described` takes them.
    """
    return field(default=default, metadata=described(sentence, *names, positional=positional, **typer))


@dataclass(frozen=True)
class Budgets:
    """The budget and the mechanism of each question to users; None where it is not asked."""

    title: ClassVar[str] = "Budgets and mechanisms"

    epsilon: float | None = option(None, "The budget for features.")
    delta: float | None = option(None, "The δ of Gaussian mechanisms; 1e-5 by default.")
    mechanism: str = option(
        "", "A name from `graphveil mechanisms`, or FILE.py:NAME; the method's own by default."
    )
    label_epsilon: float | None = option(
        None, "Make labels private too: the budget of training and validation labels."
    )
    link_epsilon: float | None = option(
        None, "Make links private too: what one link costs over everything that both its ends send."
    )
    link_mechanism: str = option(
        "",
        "How users report their links: link-rr, dprr, blink, or one that needs a trusted curator, lapgraph, privhrg, edgerr; the "
        "method's own by default.",
    )
    norm_epsilon: float | None = option(
        None,
        "Also learn to predict how long each user's row of features is (its norm): reports of training and validation users "
        "cost this much more.",
    )
    norm_bound: float | None = option(
        None, "What norms are publicly known not to exceed; by default what the range allows."
    )

    def check(self) -> None:
        """Refuse budgets that are none, and mechanisms for something else."""
        if self.epsilon is not None:
            check_budget(self.epsilon, self.delta)
            if entry(self.mechanism).subject != "features":
                raise InputError(f"{self.mechanism} does not report features: choose another mechanism")
        for name in ("label_epsilon", "link_epsilon", "norm_epsilon"):
            if getattr(self, name) is not None:
                check_budget(getattr(self, name), name=option_name(name))
        if entry(self.link_mechanism).subject != "links":
            raise InputError(
                f"{self.link_mechanism} does not report links: choose {', '.join(names('links'))}"
            )
        if self.norm_bound is None:
            return
        if self.norm_epsilon is None:
            raise InputError("--norm-bound has no meaning without norms: give --norm-epsilon too")
        low, high = NORM_BOUNDS
        check_number(self.norm_bound, "--norm-bound", least=low, most=high)

    @property
    def private_labels(self) -> bool:
        """Whether labels are asked for, and known only by their reports."""
        return self.label_epsilon is not None

    @property
    def private_links(self) -> bool:
        """Whether links are asked for, and known only by their reports."""
        return self.link_epsilon is not None


@dataclass(frozen=True)
class Levels:
    """The privacy levels that users choose from: their number, their budgets, and what hides the choice.

    ``level_distribution`` says how the choice is simulated, or names a file of levels. Without it, users who
    are given with levels keep them, and others choose uniformly.
    """

    title: ClassVar[str] = "Privacy levels"

    levels: int | None = option(
        None, "How many privacy levels users choose from; the strictest one's budget is --epsilon."
    )
    budgets: tuple[float, ...] | None = option(
        None, "E1,E2,…: the budgets of the levels; ε, 2ε, 4ε, … by default."
    )
    gamma: float | None = option(
        None, "The share of the strictest budget that hides the level; 0.1 by default."
    )
    level_distribution: str | None = option(
        None,
        "Which levels users choose: uniform, strict, relaxed, bimodal, or a file of levels. By default those that the data "
        "come with, else uniform.",
    )

    def check(self) -> None:
        """Refuse a share that is none, and a distribution that there is not."""
        if self.gamma is not None:
            check_number(self.gamma, "--gamma", above=0, below=1)
        source = level_source(self.level_distribution or "uniform")
        if isinstance(source, str) and source not in DISTRIBUTIONS:
            draw_levels(1, 2, source)

    @property
    def given(self) -> list[str]:
        """The names of given options that only users with levels have."""
        return [name for name in ("levels", "budgets", "gamma") if getattr(self, name) is not None]


@dataclass(frozen=True)
class Turnout:
    """The share of asked users that answers. Silent users answer no question of any round."""

    title: ClassVar[str] = "Who answers"

    participation: float = option(
        1.0, "The share of users who answer, drawn by seed; the others are asked, charged, and silent."
    )
    silence: str = option(
        "random",
        "Who is silent: random, or more often users with many links (degree) or of the later classes (class).",
    )

    def check(self) -> None:
        """Refuse a share that is none."""
        share = check_number(self.participation, "--participation", above=0, most=1)
        if self.silence not in SILENCES:
            raise unknown_name("silence", self.silence, SILENCES)
        if self.silence != "random" and share == 1:
            raise InputError("--silence has no meaning where everybody answers: lower --participation")

    @property
    def complete(self) -> bool:
        """Whether everybody answers."""
        return self.participation == 1


@dataclass(frozen=True)
class Volunteers:
    """Users who give the server their raw rows by consent, where the graph's file names none."""

    title: ClassVar[str] = "Who answers"

    panel: int | None = option(
        None,
        "How many volunteers give their raw features: so many training users, drawn by seed. By default those that the data "
        "come with.",
    )

    def check(self) -> None:
        """Refuse a number of volunteers that is none."""
        if self.panel is not None:
            check_whole(self.panel, "--panel", least=1)


@dataclass(frozen=True)
class Machine:
    """The device and the memory to compute with; they change numbers only by rounding."""

    title: ClassVar[str] = "Computing"

    max_memory: float | None = option(None, "Refuse a dense matrix above so many gigabytes.")
    device: str = option("auto", "auto (a GPU if there is one), cpu or cuda.")
    allow_dense: bool = option(
        False,
        "Go on where the noise of private links makes the graph dense: most reported pairs are then no links.",
    )

    def check(self) -> None:
        """Refuse a device that there is not, and no memory at all."""
        if self.device not in DEVICES:
            raise InputError(f"--device must be one of {', '.join(DEVICES)}, got {self.device!r}")
        if self.max_memory is not None:
            check_number(self.max_memory, "--max-memory", above=0, infinite=True, why="in gigabytes")


# The records by the name of the field that holds them, in a spec and in a job.
RECORDS: dict[str, type] = {
    "budgets": Budgets,
    "levels": Levels,
    "turnout": Turnout,
    "volunteers": Volunteers,
    "machine": Machine,
}


def nested(given: Mapping[str, Any], into: Any) -> dict[str, Any]:
    """Options by name, put into the records of a data class, or over those that an instance of it has.

    >>> @dataclass(frozen=True)
    ... class Thing:
    ...     seed: int
    ...     budgets: Budgets = field(default_factory=Budgets)
    >>> Thing(**nested({"epsilon": 2.0, "seed": 3}, Thing)).budgets.epsilon
    2.0
    """
    rest, records = dict(given), {}
    for member in fields(into):
        if member.name in RECORDS:
            before: Any = _default(member) if isinstance(into, type) else getattr(into, member.name)
            own = {name: rest.pop(name) for name in record_fields(member.name) if name in rest}
            records[member.name] = replace(before, **own)
    return {**rest, **records}


def _default(member: Any) -> Any:
    return member.default if member.default_factory is MISSING else member.default_factory()


def record_fields(record: str) -> list[str]:
    """The names of a record's options."""
    return [member.name for member in fields(RECORDS[record])]


def options_of(holder: Any) -> dict[str, Any]:
    """The options that the records of something hold, by name."""
    held = [name for name in RECORDS if hasattr(holder, name)]
    return {name: getattr(getattr(holder, record), name) for record in held for name in record_fields(record)}
