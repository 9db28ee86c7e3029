"""The registry: every mechanism by its name, the way to build one, and which are the package's own."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import cached_property, wraps
from types import MappingProxyType, NoneType
from typing import Any

import numpy as np

from graphveil.channels.channel import FiniteChannel
from graphveil.channels.exact import Claim
from graphveil.errors import InputError
from graphveil.mechanisms.base import Mechanism, Subject, Trust
from graphveil.mechanisms.features import Asking, FeatureMechanism
from graphveil.mechanisms.limits import (
    MAX_REPORT,
    MAX_WORD,
    check_budget,
    check_dims,
    check_settings,
    check_two_points,
    sampled_count,
)
from graphveil.mechanisms.reports import message_limit
from graphveil.mechanisms.rows import PublicRange
from graphveil.plugins import File, Origin, Registry

ROOMS = ("graphveil.channels.", "graphveil.mechanisms.")
PLAIN = (NoneType, bool, int, float, str, bytes, Fraction, range)
# Python writes these into a class when somebody reads or pickles it.
LATE = {"__annotations__", "__signature__", "__slotnames__"}

# Every class with its members and their code; the functions that build the registered mechanisms, with theirs.
_classes: dict[type, dict[str, tuple[Any, Any]]] = {}
_builders: dict[Any, Any] = {}
# What Python brings that they inherit from.
_bases: set[type] = {object}


def remember(builders: list[Any]) -> None:
    """Record the package's classes and builders.

    Called once, at the end of its import, before other code runs.
    """
    for name in [name for name in sys.modules if name.startswith(ROOMS)]:
        for kind in vars(sys.modules[name]).values():
            if isinstance(kind, type) and kind.__module__ == name:
                _classes[kind] = {key: (member, _code(member)) for key, member in vars(kind).items()}
    _bases.update(base for kind in _classes for base in kind.__mro__ if base not in _classes)
    _builders.update((build, _code(build)) for build in builders)


def _code(member: Any) -> Any:
    """Return the code that a function, a property or a method runs."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    return getattr(getattr(function, "__func__", function), "__code__", None)


def is_own_builder(build: Any) -> bool:
    """Return whether this is a function of the package that builds one of its mechanisms."""
    try:
        return build in _builders and _builders[build] is _code(build)
    except TypeError:  # it has no hash
        return False


def is_own_class(kind: type) -> bool:
    """Return whether a class and its bases are the package's, with nothing replaced."""
    return all(part in _bases or _unchanged(part) for part in kind.__mro__)


def is_own_member(owner: type, name: str) -> bool:
    """Return whether the package has written the member of a class with this name."""
    known = _classes.get(owner, {}).get(name)
    member = vars(owner).get(name)
    return known is not None and known[0] is member and known[1] is _code(member)


def _unchanged(kind: type) -> bool:
    known = _classes.get(kind)
    if known is None or vars(kind).keys() - known.keys() - LATE:
        return False
    return all(is_own_member(kind, name) for name in known.keys() - LATE)


def is_own(thing: Any, seen: set[int] | None = None) -> bool:
    """Return whether a mechanism, and everything that it is made of, is of the package's own classes.

    >>> from graphveil.mechanisms import mechanism
    >>> is_own(mechanism("multibit", epsilon=1.0, dims=4, range=(0, 1)))
    True
    """
    seen = set() if seen is None else seen
    kind = type(thing)
    if kind in PLAIN or id(thing) in seen:
        return True
    seen.add(id(thing))
    if kind is np.ndarray or isinstance(thing, np.generic | np.dtype):
        return not thing.dtype.hasobject if kind is np.ndarray else True
    if kind in (dict, MappingProxyType):
        return all(is_own(part, seen) for pair in thing.items() for part in pair)
    if kind in (tuple, list, set, frozenset):
        return all(is_own(part, seen) for part in thing)
    if not is_own_class(kind):
        return False
    held = getattr(thing, "__dict__", {})
    parts = [*held.values(), *(thing if isinstance(thing, tuple) else ())]
    return not any(hides_member(thing, name) for name in held) and all(is_own(part, seen) for part in parts)


def hides_member(thing: Any, name: str) -> bool:
    """Return whether an attribute of an object hides a member of its class.

    Fields and stored results do not count.
    """
    if name not in getattr(thing, "__dict__", {}):
        return False
    member = inspect.getattr_static(type(thing), name, None)
    field = is_dataclass(thing) and name in {field.name for field in fields(thing)}
    return member is not None and not field and not isinstance(member, cached_property)


DEFAULT_DELTA = 1e-5

Builder = Callable[..., Mechanism]


@dataclass(frozen=True)
class Entry:
    """A registered mechanism: its builder and its subject.

    One that is not ``sound`` is there to be compared with: it is known not to keep its claim, and tests check
    that an audit says so. ``trust`` is "curator" where somebody who sees all private data adds the noise,
    else "local".
    """

    name: str
    subject: Subject
    summary: str
    build: Builder
    sound: bool = True
    trust: Trust = "local"


def _outside_entry(name: str, member: Any) -> Entry:
    """Return a member of a file or a package as an entry, from an entry or a function that builds one."""
    if len(name) > MAX_WORD:
        raise InputError(f"names have at most {MAX_WORD} characters, got {len(name)}: give a shorter path")
    if isinstance(member, Entry):
        return replace(member, name=name)
    if isinstance(member, Mechanism):
        raise InputError(f"{name} is built already, for one budget: name the function that builds it")
    accepted = _parameters(member) if callable(member) else []
    if "epsilon" not in accepted:
        raise InputError(
            f"{name} must be a name that is registered there or a function that builds a mechanism from epsilon, dims, range "
            f"and so on, got {type(member).__name__ if not accepted else 'one that takes ' + ', '.join(accepted)}"
        )
    subject = _subject(accepted)

    @wraps(member)
    def build(**settings: Any) -> Mechanism:
        built = member(**settings)
        if not isinstance(built, Mechanism) or built.subject != subject:
            raise InputError(
                f"{name} must build a mechanism for {subject}, it returns {type(built).__name__}: subclass "
                "graphveil.mechanisms.Mechanism, or register a family of channels with graphveil.feature_family"
            )
        return built

    return Entry(name, subject, (inspect.getdoc(member) or "").split("\n")[0], build)


def _parameters(build: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(build).parameters)
    except (TypeError, ValueError):
        return []


def _subject(accepted: Collection[str]) -> Subject:
    """Return the subject of a function that builds a mechanism, by its settings, as `register` lists them."""
    if "range" in accepted:
        return "features"
    if "classes" in accepted:
        return "label"
    return "level" if "levels" in accepted else "links" if "dims" in accepted else "features"


_entries = Registry[Entry]("mechanism", group="graphveil.mechanisms", adapt=_outside_entry)


def register(
    name: str,
    *,
    subject: Subject = "features",
    summary: str = "",
    sound: bool = True,
    trust: Trust = "local",
) -> Callable[[Builder], Builder]:
    """Register a function that builds a mechanism.

    Builders for features take at least epsilon, dims and range, for labels epsilon and classes, for levels
    epsilon and levels, for links epsilon and dims, the number of users. A registered mechanism can be named
    in a plan and audited, and `check_mechanism` tests it.

    Parameters
    ----------
    name
        The name in plans and on the command line.
    subject
        What is asked for: features, label, level or links.
    summary
        A description in one line; the first line of the builder's docstring by default.
    sound
        False for a mechanism that is known not to keep its claim.
    trust
        "curator" where somebody who sees all private data adds the noise, else "local".
    """

    def add(build: Builder) -> Builder:
        description = summary or (inspect.getdoc(build) or "").split("\n")[0]
        _entries.add(name, Entry(name, subject, description, build, sound, trust))
        return build

    return add


def unregister(name: str) -> None:
    """Forget a mechanism."""
    _entries.remove(name)


def entry(name: str) -> Entry:
    """Return the registered mechanism of that name."""
    return _entries.find(name)


def load_entry(name: str) -> Entry:
    """Return the mechanism of that name, also from FILE.py:NAME or an installed package.

    Their code is run: never call this with a name that came over a network.
    """
    return _entries.load(name)


def origin(name: str) -> Origin | None:
    """Return the file or package of a mechanism, whose claim is then its author's.

    None for the library's own.
    """
    return _entries.origin(name)


def registered_by(file: File) -> list[str]:
    """Return the names of the mechanisms that a file has registered."""
    return file.registered(_entries)


def all_names(warn: Callable[[str], None]) -> list[str]:
    """Return the names of all mechanisms, with those of installed packages.

    ``warn`` is called with a message for each one that cannot be loaded.
    """
    return _entries.load_all(warn)


def names(subject: Subject | None = None) -> list[str]:
    """Return the names of all registered mechanisms, or of those for features, label, level or links."""
    return [name for name, registered in _entries.items() if subject in (None, registered.subject)]


def mechanism(name: str, *, epsilon: float, **settings: Any) -> Mechanism:
    """Build a mechanism by name.

    Features need ``dims`` and a public ``range``; ``sampled`` sets m, ``binary=True`` says that values are only ever the
    two ends of the range. Labels need ``classes``, levels ``levels``, links ``dims``: the number of users.

    >>> mechanism("multibit", epsilon=1.0, dims=1433, range=(0, 1))
    FeatureMechanism(multibit, epsilon=1, 1 of 1433 values, Channel(onebit, epsilon=1, 2 -> 2) each)
    """
    registered = entry(name)
    check_settings(settings)
    check_budget(epsilon, settings.get("delta"))
    settings = {key: value for key, value in settings.items() if value is not None}
    accepted = inspect.signature(registered.build).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values()):
        for key in settings:
            if key not in accepted:
                choices = ", ".join(option for option in accepted if option != "epsilon")
                raise InputError(f"{name} has no setting {key!r}: it takes {choices}")
    for key, parameter in accepted.items():
        named = parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if named and parameter.default is parameter.empty and key != "epsilon" and key not in settings:
            raise InputError(f"{name} needs {key}: {_NEEDED.get(key, 'give it')}")
    built = registered.build(epsilon=float(epsilon), **settings)
    # A curator writes everybody's reports, and no client sends them.
    size = message_limit(built)
    if built.trust == "local" and size > MAX_REPORT:
        raise InputError(f"a report of {name} may have {size} bytes, at most {MAX_REPORT} are sent")
    return built


_NEEDED = {
    "dims": "the number of features of a row; where links are asked, of users",
    "range": "the public range (LOW, HIGH) that features lie in; it is never read off the data",
    "classes": "the number of different labels",
    "levels": "the number of privacy levels",
    "length": "the public number of items that a row may hold at most",
}


def feature_family(
    name: str,
    family: Callable[..., FiniteChannel],
    summary: str,
    *,
    rate: float | None = None,
    rescaled: bool = True,
    grid: bool = True,
    with_delta: bool = False,
    fixed: dict[str, Any] | None = None,
) -> None:
    """Register a one-value family as a feature mechanism.

    A plan may name a ``pool`` of dimensions and how many answers are ``from_pool`` (`Asking`).

    Parameters
    ----------
    name
        The name in plans and on the command line.
    family
        A constructor of channels that takes an ε.
    summary
        A description in one line.
    rate
        The number of values asked per unit of ε, which sets m; None asks for all d values.
    rescaled
        Whether estimates are multiplied by d/m.
    grid
        Whether the family takes a number of input points.
    with_delta
        Whether the family takes a δ.
    fixed
        Options of the family.
    """

    def build(
        epsilon: float,
        dims: int,
        range: Any,
        sampled: int | None = None,
        delta: float | None = None,
        binary: bool = False,
        pool: Any = None,
        from_pool: float | None = None,
        **options: Any,
    ) -> FeatureMechanism:
        check_dims(dims, sampled)
        count = int(sampled) if sampled is not None else sampled_count(epsilon, int(dims), rate)
        asking = Asking.of(int(dims), count, pool, from_pool)
        settings = {**(fixed or {}), **options}
        if delta and not with_delta:
            raise InputError(f"{name} is private at delta 0 and takes no delta, got {delta!r}: leave it out")
        if grid and binary:
            check_two_points(settings.get("points"))
            settings["points"] = 2
        if with_delta:
            delta = DEFAULT_DELTA if delta is None else delta
            # Rounded down, so that the shares never add up to more than the whole.
            settings["delta"] = math.nextafter(delta / count, 0.0)
        channel = one_value(name, family, epsilon / count, settings)
        return FeatureMechanism(
            name,
            Claim(epsilon, delta or 0.0),
            PublicRange.of(range),
            int(dims),
            count,
            (channel,),
            dims / count if rescaled else 1.0,
            unbiased=rescaled and not settings.get("raw", False) and asking.everything,
            binary=binary and channel.input_count == 2,
            favoured=None if asking.even else asking,
        )

    register(name, summary=summary)(build)


def one_value(
    name: str, family: Callable[..., FiniteChannel], epsilon: float, settings: dict[str, Any]
) -> FiniteChannel:
    """Return the channel for one value; name a setting that the family does not have in an error.

    Parameters
    ----------
    name
        The mechanism's name, for the error message.
    family
        The constructor of the channel.
    epsilon
        The budget of one value.
    settings
        Options of the family.
    """
    accepted = inspect.signature(inspect.unwrap(family)).parameters
    for key in settings:
        if key not in accepted:
            choices = ", ".join(option for option in accepted if option != "epsilon") or "none of its own"
            raise InputError(f"{name} has no setting {key!r}: besides the common ones it takes {choices}")
    return family(epsilon, **settings)


def takes_levels(name: str) -> bool:
    """Return whether users of this feature mechanism choose a privacy level."""
    registered = entry(name)
    return registered.subject == "features" and "budgets" in inspect.signature(registered.build).parameters
