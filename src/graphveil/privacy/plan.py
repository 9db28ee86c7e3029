"""Plan: what is asked, of whom, with which budget. The object that travels from a server to its users."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from graphveil.channels.exact import Claim
from graphveil.errors import InputError
from graphveil.mechanisms import Mechanism, entry, mechanism
from graphveil.mechanisms.base import Subject

# What a mechanism is told by fields of the plan, so that no option can say it a second time.
FIELDS = ("name", "epsilon", "delta", "dims", "range", "sampled", "binary", "classes", "levels", "of")


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

    mechanism: str
    epsilon: float
    delta: float | None = None
    users: Literal["all"] | tuple[int, ...] = "all"
    round: int = Field(default=1, ge=1)
    of: Literal["values", "norm"] = "values"
    dims: int | None = None
    range: tuple[float, float] | None = None
    sampled: int | None = None
    binary: bool | None = None
    classes: int | None = None
    levels: int | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise InputError(_sentence(error)) from None

    @model_validator(mode="after")
    def _can_be_served(self) -> Plan:
        if self.users != "all" and (
            len(set(self.users)) != len(self.users) or min(self.users, default=0) < 0
        ):
            raise ValueError("users must be 'all' or different numbers of at least 0")
        for key in self.options:
            if key in FIELDS:
                raise ValueError(f"options must not hold {key!r}, which the plan says itself")
        mechanism = self.build()
        if self.of == "norm" and (self.subject != "features" or self.dims != 1 or mechanism.personal):
            raise ValueError(
                "a norm is one value: ask for it by a mechanism for features without levels, with dims = 1"
            )
        return self

    @classmethod
    def from_json(cls, text: str | bytes) -> Plan:
        """Read a plan that came over the network."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise InputError(_sentence(error)) from None

    def to_json(self) -> str:
        """The plan as JSON; what is not set is left out, and so is ``of`` where values are asked."""
        usual = {"of"} if self.of == "values" else None
        return self.model_dump_json(exclude_none=True, exclude=usual)

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
        return mechanism(
            self.mechanism,
            epsilon=self.epsilon,
            delta=self.delta,
            dims=self.dims,
            range=self.range,
            sampled=self.sampled,
            binary=self.binary,
            classes=self.classes,
            levels=self.levels,
            **self.options,
        )


def _sentence(error: ValidationError) -> str:
    """All that is wrong with a plan, in one line."""
    parts = []
    for problem in error.errors(include_url=False):
        place = ".".join(str(step) for step in problem["loc"])
        reason = str(problem["msg"]).removeprefix("Value error, ")
        got = "" if problem["type"] == "value_error" else f", got {problem['input']!r}"
        parts.append(f"{place}: {reason}{got}" if place else reason)
    return "the plan cannot be served: " + "; ".join(parts)
