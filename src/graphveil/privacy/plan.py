"""Plan: what is asked, of whom, with which budget, and its digest. The object that travels from a server to its users."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    model_validator,
)
from pydantic.types import StrictBool, StrictFloat, StrictInt

from graphveil.channels.build import SizedCache, table_size
from graphveil.channels.channel import digest
from graphveil.channels.exact import Claim
from graphveil.checks import short
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms import Mechanism, Reports, entry, mechanism
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.classes import MAX_OPEN, ClassMechanism, ClassModel, Integers
from graphveil.mechanisms.labels import LabelMechanism
from graphveil.mechanisms.limits import MAX_DEPTH, MAX_LISTED, MAX_NAMED_USERS, MAX_WORD
from graphveil.mechanisms.registry import Entry
from graphveil.mechanisms.rows import PublicRange

# What a mechanism is told by fields of the plan, so that no option can say it a second time.
FIELDS = ("name", "epsilon", "delta", "dims", "range", "sampled", "binary", "classes", "levels", "of")
# What a plan says where it asks for a class, and must not say elsewhere; and what it cannot say there.
OF_CLASS, NOT_OF_CLASS = ("model", "lists", "offsets"), ("delta", "sampled", "binary", "levels")
NEEDED = ("model", "lists", "classes", "dims", "range")
# A plan that names a million users is still below this; more is not read.
MAX_BYTES = 1 << 24
# Fields and options of a plan, and how many wrong ones an error names.
MAX_KEYS, MAX_PROBLEMS = 64, 3
# Characters of a field's name that an error shows.
MAX_NAME = 40
# Users have numbers below this, and so have rounds.
MAX_USERS, MAX_ROUND = 1 << 40, 1 << 20
# Mechanisms of plans that were asked lately are kept, as a plan is checked anew by everybody who answers it: so many numbers.
_kept = SizedCache(1 << 22)


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _plain_option(value: Any, depth: int = 0) -> Any:
    """An option as JSON has it, so that nobody else holds a part of it."""
    value = _plain(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)) and depth < MAX_DEPTH:
        if len(value) > MAX_LISTED:
            raise ValueError(f"an option may list at most {MAX_LISTED} numbers, got {len(value)}")
        if set(map(type, value)) <= {int, float}:
            return list(value)
        if len(value) > MAX_KEYS:
            raise ValueError(f"an option may list at most {MAX_KEYS} things but numbers, got {len(value)}")
        return [_plain_option(each, depth + 1) for each in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise ValueError(f"options must be numbers, words or lists, got {type(value).__name__} {depth} deep")


def _plain_options(options: Any) -> Any:
    if not isinstance(options, dict):
        return options
    if len(options) > MAX_KEYS:
        raise ValueError(f"options may be at most {MAX_KEYS}, got {len(options)}")
    return {key: _plain_option(value) for key, value in options.items()}


def _users(users: Any) -> Any:
    """'all', or the numbers of different users; looked at all at once, however many there are."""
    if isinstance(users, str) and users == "all":
        return "all"
    if not isinstance(users, (list, tuple)):
        raise InputError(f"users must be 'all' or a list of numbers, got {short(users)}")
    if len(users) > MAX_NAMED_USERS:
        raise InputError(f"a plan may name at most {MAX_NAMED_USERS} users, got {len(users)}: ask in parts")
    if not set(map(type, users)) <= {int}:
        raise ValueError("users must be 'all' or whole numbers")
    if len(set(users)) != len(users) or not 0 <= min(users, default=0) <= max(users, default=0) < MAX_USERS:
        raise ValueError(f"users must be 'all' or different numbers of 0..{MAX_USERS - 1}")
    return tuple(users)


def _model(told: Any) -> Any:
    return None if told is None else ClassModel.of(told)


def _table(name: str) -> BeforeValidator:
    return BeforeValidator(
        lambda told: None if told is None else Integers.of(told, name, 2, MAX_OPEN, rowless=True)
    )


# Numbers are numbers: neither words nor true and false.
Number = Annotated[StrictFloat, BeforeValidator(_plain)]
Count = Annotated[StrictInt, BeforeValidator(_plain)]
_listed = PlainSerializer(lambda table: None if table is None else table.tolist())


class Plan(BaseModel):
    """A question to some or all users, complete enough that a client can refuse it before answering.

    A plan that no mechanism can serve (a budget that is not positive and finite, m outside 1..d, a range that is none)
    cannot be made: the mechanism is built, and its claim verified, when the plan is.

    ``of`` says what of a row of features is asked: its values, one value, its Euclidean norm, or the class that a public
    ``model`` gives to it. Then ``lists`` are the ``classes`` that are left open for each user, in the order of ``users``,
    ``offsets`` what is added to their scores, and an answer is a place in the own list (`ClassMechanism`).

    >>> plan = Plan(mechanism="multibit", epsilon=1.0, dims=1433, range=(0, 1))
    >>> plan.claim
    Claim(epsilon=1.0, delta=0.0)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    mechanism: str = Field(max_length=MAX_WORD)
    epsilon: Number
    delta: Number | None = None
    users: Annotated[Literal["all"] | tuple[int, ...], BeforeValidator(_users)] = "all"
    round: Count = Field(default=1, ge=1, le=MAX_ROUND)
    of: Literal["values", "norm", "class"] = "values"
    dims: Count | None = None
    range: tuple[Number, Number] | None = None
    sampled: Count | None = None
    binary: StrictBool | None = None
    classes: Count | None = None
    levels: Count | None = None
    model: Annotated[
        ClassModel | None,
        BeforeValidator(_model),
        PlainSerializer(lambda model: None if model is None else model.as_dict()),
    ] = None
    lists: Annotated[Integers | None, _table("lists"), _listed] = None
    offsets: Annotated[Integers | None, _table("offsets"), _listed] = None
    options: Annotated[dict[str, Any], BeforeValidator(_plain_options)] = Field(default_factory=dict)

    def __init__(self, /, **fields: Any) -> None:
        if len(fields) > MAX_KEYS:
            raise InputError(f"the plan cannot be served: {len(fields)} fields, at most {MAX_KEYS} are read")
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise InputError(_sentence(error)) from None

    @model_validator(mode="after")
    def _can_be_served(self) -> Plan:
        for key in self.options:
            if key in FIELDS:
                raise ValueError(f"options must not hold {key!r}, which the plan says itself")
        self._check_class()
        mechanism = self.build()
        if self.of == "norm" and (self.subject != "features" or self.dims != 1 or mechanism.budgets):
            raise ValueError("a norm is one value: ask by a mechanism for features without levels, dims = 1")
        if mechanism.trust == "curator" and self.users != "all":
            raise ValueError(f"{self.mechanism} is a curator's mechanism: ask 'all' users")
        return self

    def _check_class(self) -> None:
        """A class is asked with all that its answer needs, and nothing else is asked with any of it."""
        if self.of != "class":
            given = [name for name in OF_CLASS if getattr(self, name) is not None]
            if given:
                raise ValueError(f"{' and '.join(given)} belong to a question for a class: say of = 'class'")
            return
        if entry(self.mechanism).subject != "label":
            raise ValueError(f"a class is answered like a label, by krr: {self.mechanism} cannot")
        for name in NEEDED:
            if getattr(self, name) is None:
                raise ValueError(f"a question for a class needs {', '.join(NEEDED)}: {name} is missing")
        for name in NOT_OF_CLASS:
            if getattr(self, name) is not None:
                raise ValueError(f"a question for a class takes no {name}: leave it out")
        assert self.model is not None and self.lists is not None
        if self.users == "all" or len(self.users) != self.lists.shape[0]:
            asked = "all users" if self.users == "all" else f"{len(self.users)} users"
            raise ValueError(
                f"a question for a class must name its users, and have a list for each: it asks {asked} with "
                f"{self.lists.shape[0]} lists"
            )
        if self.dims != self.model.dims:
            raise ValueError(f"the model takes rows of {self.model.dims} values, dims is {self.dims}")

    @classmethod
    def from_json(cls, text: str | bytes) -> Plan:
        """Read a plan that came over the network."""
        if len(text) > MAX_BYTES:
            raise InputError(f"the plan cannot be served: {len(text)} bytes, at most {MAX_BYTES} are read")
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            raise InputError("the plan cannot be served: it is no JSON") from None
        if not isinstance(fields, dict):
            raise InputError("the plan cannot be served: it must be a JSON object")
        return cls(**fields)

    def to_json(self) -> str:
        """The plan as JSON; what is not set is left out, and so is ``of`` where values are asked."""
        usual = {"of"} if self.of == "values" else None
        return self.model_dump_json(exclude_none=True, exclude=usual)

    @staticmethod
    def checked(plan: Any) -> Plan:
        """The same plan, made and checked anew: whoever answers does not rely on how it was made or on what it says it is."""
        if not isinstance(plan, Plan):
            raise InputError(f"a plan must be a Plan, got {type(plan).__name__}: make it with gv.Plan(…)")
        return Plan(**{name: getattr(plan, name) for name in Plan.model_fields})

    def model_copy(self, *, update: Any = None, deep: bool = False) -> Plan:
        """The plan with other fields, checked like any plan."""
        return Plan(**{**{name: getattr(self, name) for name in Plan.model_fields}, **(update or {})})

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Plan:
        """A plan is never made without being checked."""
        return cls(**values)

    def part(self, users: Sequence[int]) -> Plan:
        """The same question to some of its users: what they are sent, where others need not know whom else it asks.

        A class is asked with the lists and offsets of these users alone.
        """
        if self.users == "all":
            return self.model_copy(update={"users": tuple(users)})
        places = {user: place for place, user in enumerate(self.users)}
        strangers = [user for user in users if user not in places]
        if strangers:
            raise InputError(f"the plan does not ask user {short(strangers[0])}: ask users of the whole")
        return self._at([places[user] for user in users])

    def parts(self) -> Iterator[Plan]:
        """The plan of each user, one after the other, in its order."""
        if self.users == "all":
            raise InputError("the plan asks 'all' users: name them, or ask for a part")
        for place in range(len(self.users)):
            yield self._at([place])

    def _at(self, places: list[int]) -> Plan:
        assert self.users != "all"
        own = {
            name: table.rows(places)
            for name in ("lists", "offsets")
            if (table := getattr(self, name)) is not None
        }
        return self.model_copy(update={"users": tuple(self.users[place] for place in places), **own})

    @property
    def subject(self) -> Subject:
        """The subject of the plan: features, label, level or links.

        A class is one of features, whatever answers it.
        """
        return "features" if self.of == "class" else entry(self.mechanism).subject

    @property
    def claim(self) -> Claim:
        """The budget that an answer costs."""
        return self.build().claim

    def build(self) -> Mechanism:
        """The mechanism that answers this plan."""
        of_class = self.of == "class"
        settings = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "dims": None if of_class else self.dims,
            "range": None if of_class else self.range,
            "sampled": self.sampled,
            "binary": self.binary,
            "classes": self.classes,
            "levels": self.levels,
        }
        told = json.dumps([settings, self.options], sort_keys=True)
        if not of_class:
            return _built(entry(self.mechanism), told)
        assert self.range is not None and self.model is not None and self.lists is not None
        return _built_class(entry(self.mechanism), told, self.range, self.model, self.lists, self.offsets)


def _built(registered: Entry, told: str) -> Mechanism:
    """The mechanism of a registered name with these settings, built once."""

    def build() -> Mechanism:
        fields, options = json.loads(told)
        return mechanism(registered.name, **fields, **options)

    return _kept.get((registered, told), build, lambda built: len(told) // 4 + _held_by(built))


def _held_by(built: Mechanism) -> int:
    """About how many numbers a mechanism holds."""
    return sum(table_size(each.channel) for each in built.answers)


def _built_class(
    registered: Entry,
    told: str,
    public: tuple[float, float],
    model: ClassModel,
    lists: Integers,
    offsets: Integers | None,
) -> Mechanism:
    """The mechanism of a question for a class, built once."""

    def build() -> ClassMechanism:
        label = _built(registered, told)
        if not isinstance(label, LabelMechanism):
            raise InputError(f"a class is answered by krr, {registered.name} answers in another way")
        # What sees private rows shares no object with the caller.
        own = None if offsets is None else Integers.anew(offsets)
        return ClassMechanism(label, PublicRange.of(public), _own_model(model), Integers.anew(lists), own)

    key = (registered, told, public, model, lists, offsets)
    return _kept.get(key, build, lambda built: 2 * built.lists.array.size + built.model.size)


def _own_model(model: ClassModel) -> ClassModel:
    return _kept.get(model, lambda: ClassModel.anew(model), lambda own: own.size)


def _sentence(error: ValidationError) -> str:
    """All that is wrong with a plan, in one line."""
    parts = []
    for problem in error.errors(include_url=False)[:MAX_PROBLEMS]:
        # A field may have any name, and a long one would hide what is wrong.
        place = ".".join(str(step)[:MAX_NAME] for step in problem["loc"])
        reason = str(problem["msg"]).removeprefix("Value error, ")
        got = "" if problem["type"] == "value_error" else f", got {short(problem['input'])}"
        parts.append(f"{place}: {reason}{got}" if place else reason)
    return "the plan cannot be served: " + "; ".join(parts)


# Whole numbers up to here are the same as floats and as integers, in any language.
WHOLE = 1 << 53


def plan_digest(plan: Plan) -> str:
    """The SHA-256 of a plan's canonical bytes: 64 hexadecimal digits. Equal plans have equal digests.

    >>> one = Plan.from_json('{"mechanism": "krr", "epsilon": 1, "classes": 3, "users": [7]}')
    >>> other = Plan.from_json('{"users": [7], "round": 1, "classes": 3, "epsilon": 1.0, "mechanism": "krr"}')
    >>> plan_digest(one) == plan_digest(other)
    True
    """
    return digest(described(plan))


def described(plan: Plan) -> dict[str, Any]:
    """Return the content of the digest.

    That is every field that is set, users and tables as arrays, and a model as its own digest.
    """
    fields = {name: getattr(plan, name) for name in Plan.model_fields}
    told = {name: value for name, value in fields.items() if value is not None}
    if plan.users != "all":
        told["users"] = np.array(plan.users, dtype=np.int64)
    for name in ("lists", "offsets"):
        if name in told:
            told[name] = told[name].array
    if plan.model is not None:
        told["model"] = plan.model.digest
    for name in ("epsilon", "delta", "range"):
        if name in told:
            told[name] = _positive_zero(told[name])
    told["options"] = _option(plan.options)
    return told


def _positive_zero(number: Any) -> Any:
    """The same numbers, where 0 has no sign."""
    return [each + 0.0 for each in number] if isinstance(number, tuple) else number + 0.0


def _option(value: Any) -> Any:
    """An option, where a whole number is an integer: JSON of some languages does not tell 1 from 1.0."""
    if isinstance(value, dict):
        return {key: _option(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_option(each) for each in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= WHOLE:
        return int(value)
    return value


# What differs between a plan and its parts.
OWN = ("users", "lists", "offsets")


def join_parts(plan: Plan, answered: Iterable[tuple[Plan, Reports]]) -> Reports:
    """The reports to a whole plan from those to its parts, in whatever order they came; users who are missing are silent.

    A part must ask of its users what the whole asks of them, and its reports must answer it.
    """
    plan = Plan.checked(plan)
    if plan.users == "all":
        raise InputError("parts are put together where a plan names its users, and this one asks 'all'")
    places = {user: place for place, user in enumerate(plan.users)}
    came, told = [], []
    for part, reports in answered:
        own = _places(plan, part, places)
        if reports.mechanism.fingerprint != part.build().fingerprint:
            raise MessageError("reports do not answer the part they come with: give each with its own plan")
        if reports.asked != own.size:
            raise MessageError(f"{reports.asked} reports were given for a part of {own.size} users")
        reports.check()
        came.append(own[reports.places])
        told.append(reports)
    if not told:
        raise InputError("there must be at least one part to put together")
    return _ordered(plan, np.concatenate(came), told)


def _places(plan: Plan, part: Plan, places: dict[int, int]) -> NDArray[np.int64]:
    """Return the places of a part's users in the whole plan."""
    if any(getattr(part, name) != getattr(plan, name) for name in Plan.model_fields if name not in OWN):
        raise InputError("a part asks something else than the whole plan: make parts with plan.part(users)")
    if part.users == "all" or not all(user in places for user in part.users):
        raise InputError("a part asks users whom the whole plan does not ask")
    own = np.array([places[user] for user in part.users], dtype=np.int64)
    for name in ("lists", "offsets"):
        whole, some = getattr(plan, name), getattr(part, name)
        if (whole is None) != (some is None) or (whole is not None and whole.rows(own) != some):
            raise InputError(f"a part has other {name} than the whole plan has for its users")
    return own


def _ordered(plan: Plan, places: NDArray[np.int64], told: list[Reports]) -> Reports:
    """All reports in the plan's order."""
    assert plan.users != "all"
    if len(np.unique(places)) != len(places):
        raise MessageError("a user has answered two parts: everybody answers once")
    whole = Reports.join([replace(reports, answered=None) for reports in told], plan.build())
    answered = np.zeros(len(plan.users), dtype=bool)
    answered[places] = True
    return replace(whole.rows(np.argsort(places)), answered=None if answered.all() else answered)
