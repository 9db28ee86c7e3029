"""Plan: what is asked, of whom, with which budget. The object that travels from a server to its users."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.types import StrictBool, StrictFloat, StrictInt

from graphveil.channels.exact import Claim
from graphveil.checks import short
from graphveil.errors import InputError
from graphveil.mechanisms import Mechanism, entry, mechanism
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.limits import MAX_DEPTH, MAX_LISTED, MAX_WORD, check_named_users
from graphveil.mechanisms.registry import Entry

# What a mechanism is told by fields of the plan, so that no option can say it a second time.
FIELDS = ("name", "epsilon", "delta", "dims", "range", "sampled", "binary", "classes", "levels", "of")
# A plan that names a million users is still below this; more is not read.
MAX_BYTES = 1 << 24
# Fields and options of a plan, and how many wrong ones an error names.
MAX_KEYS, MAX_PROBLEMS = 64, 3
# Users have numbers below this, and so have rounds.
MAX_USERS, MAX_ROUND = 1 << 40, 1 << 20
# Mechanisms of plans that were asked lately are kept: a plan is checked anew by everybody who answers it.
KEPT = 16


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
            raise ValueError(
                f"an option may list at most {MAX_KEYS} things that are no numbers, got {len(value)}"
            )
        return [_plain_option(each, depth + 1) for each in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise ValueError(
        f"options must be numbers, words or lists of them, got {type(value).__name__} {depth} lists deep"
    )


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
    check_named_users(len(users))
    if not set(map(type, users)) <= {int}:
        raise ValueError("users must be 'all' or whole numbers")
    if len(set(users)) != len(users) or not 0 <= min(users, default=0) <= max(users, default=0) < MAX_USERS:
        raise ValueError(f"users must be 'all' or different numbers of 0..{MAX_USERS - 1}")
    return tuple(users)


# Numbers are numbers: neither words nor true and false.
Number = Annotated[StrictFloat, BeforeValidator(_plain)]
Count = Annotated[StrictInt, BeforeValidator(_plain)]


class Plan(BaseModel):
    """A question to some or all users, complete enough that a client can refuse it before answering.

    A plan that no mechanism can serve (a budget that is not positive and finite, m outside 1..d, a range that is none)
    cannot be made: the mechanism is built, and its claim verified, when the plan is.

    ``of`` says what of a row of features is asked: its values, or one value, its Euclidean norm.

    >>> plan = Plan(mechanism="multibit", epsilon=1.0, dims=1433, range=(0, 1))
    >>> plan.claim
    Claim(epsilon=1.0, delta=0.0)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mechanism: str = Field(max_length=MAX_WORD)
    epsilon: Number
    delta: Number | None = None
    users: Annotated[Literal["all"] | tuple[int, ...], BeforeValidator(_users)] = "all"
    round: Count = Field(default=1, ge=1, le=MAX_ROUND)
    of: Literal["values", "norm"] = "values"
    dims: Count | None = None
    range: tuple[Number, Number] | None = None
    sampled: Count | None = None
    binary: StrictBool | None = None
    classes: Count | None = None
    levels: Count | None = None
    options: Annotated[dict[str, Any], BeforeValidator(_plain_options)] = Field(default_factory=dict)

    def __init__(self, **fields: Any) -> None:
        if len(fields) > MAX_KEYS:
            raise InputError(
                f"the plan cannot be served: it has {len(fields)} fields, at most {MAX_KEYS} are read"
            )
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise InputError(_sentence(error)) from None

    @model_validator(mode="after")
    def _can_be_served(self) -> Plan:
        for key in self.options:
            if key in FIELDS:
                raise ValueError(f"options must not hold {key!r}, which the plan says itself")
        mechanism = self.build()
        if self.of == "norm" and (self.subject != "features" or self.dims != 1 or mechanism.personal):
            raise ValueError(
                "a norm is one value: ask for it by a mechanism for features without levels, with dims = 1"
            )
        if mechanism.trust == "curator" and self.users != "all":
            raise ValueError(
                f"{self.mechanism} is a curator's mechanism, which takes what everybody holds: ask 'all' users"
            )
        return self

    @classmethod
    def from_json(cls, text: str | bytes) -> Plan:
        """Read a plan that came over the network."""
        if len(text) > MAX_BYTES:
            raise InputError(
                f"the plan cannot be served: it has {len(text)} bytes, at most {MAX_BYTES} are read"
            )
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

    @property
    def subject(self) -> Subject:
        """What is asked for: features, label, level or links."""
        return entry(self.mechanism).subject

    @property
    def claim(self) -> Claim:
        """The budget that an answer costs."""
        return self.build().claim

    def build(self) -> Mechanism:
        """The mechanism that answers this plan."""
        settings = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "dims": self.dims,
            "range": self.range,
            "sampled": self.sampled,
            "binary": self.binary,
            "classes": self.classes,
            "levels": self.levels,
        }
        return _built(entry(self.mechanism), json.dumps([settings, self.options], sort_keys=True))


@lru_cache(maxsize=KEPT)
def _built(registered: Entry, told: str) -> Mechanism:
    """The mechanism of a registered name with these settings, built once."""
    fields, options = json.loads(told)
    return mechanism(registered.name, **fields, **options)


def _sentence(error: ValidationError) -> str:
    """All that is wrong with a plan, in one line."""
    parts = []
    for problem in error.errors(include_url=False)[:MAX_PROBLEMS]:
        place = ".".join(str(step) for step in problem["loc"])
        reason = str(problem["msg"]).removeprefix("Value error, ")
        got = "" if problem["type"] == "value_error" else f", got {short(problem['input'])}"
        parts.append(f"{place}: {reason}{got}" if place else reason)
    return "the plan cannot be served: " + "; ".join(parts)
