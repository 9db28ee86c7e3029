"""The JSON that devices and operators send, and the answers that they get, as FastAPI describes them."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from graphveil.collect.folder import CollectionSettings
from graphveil.collect.problems import ProblemError
from graphveil.collect.roster import RosterAgreement
from graphveil.privacy.invitation import Invitation

Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=True, ge=0, lt=1 << 31)]
# Of a long list one error is enough.
Places = Annotated[list[Whole], Field(fail_fast=True)]
MAX_LEVELS = 64
# Nobody has a budget that is counted in millions.
MAX_EPSILON = 1e6

# Parts of paths. Those of uploads are read by `requests.read_address`, because everybody's reports pass there.
RoundNumber = Annotated[int, Path(ge=1, le=9_999_999, description="The number of the round.")]
ReportId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="An id of the report's own.")]
# The SHA-256 of a credential that the device has drawn.
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _DeviceRequest(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CapRequest(_DeviceRequest):
    """The most that an owner will spend."""

    epsilon: Annotated[Finite, Field(gt=0, le=MAX_EPSILON)]
    delta: Annotated[Finite, Field(ge=0, lt=1)] = 0.0


class EnrolmentRequest(_DeviceRequest):
    """A device's request to take part."""

    token: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{22}$")]
    credential_hash: Hash
    cap: CapRequest
    excluded: Places = []
    volunteer: Annotated[bool, Field(strict=True)] = False
    by_level: Annotated[list[Finite], Field(min_length=1, max_length=MAX_LEVELS)] | None = None
    renewal_days: Annotated[Whole, Field(ge=1)] | None = None

    @property
    def secret(self) -> bytes:
        """The secret of the invitation."""
        # Only its form is needed of the key.
        return Invitation.read(f"{self.token}.{'A' * 43}").secret

    def agreement(self, settings: CollectionSettings) -> RosterAgreement:
        """Return the agreement, if the collection can keep it."""
        if self.cap.epsilon > settings.epsilon or self.cap.delta > settings.delta:
            most = f"epsilon {settings.epsilon:g} and delta {settings.delta:g}"
            raise ProblemError(
                422, f"this collection spends at most {most} of anybody: agree to that or less"
            )
        excluded = tuple(sorted(set(self.excluded)))
        if excluded and excluded[-1] >= settings.dims:
            raise ProblemError(
                422, f"excluded attributes must be below {settings.dims}: see GET /v1/collection"
            )
        if self.volunteer and not settings.volunteers:
            raise ProblemError(422, "this collection takes no raw rows: enrol without volunteer")
        if self.by_level is not None and not all(0 <= each <= settings.epsilon for each in self.by_level):
            raise ProblemError(422, f"the cap of a level must lie between 0 and {settings.epsilon:g}")
        levels = None if self.by_level is None else tuple(self.by_level)
        return RosterAgreement(
            self.cap.epsilon, self.cap.delta, excluded, self.volunteer, levels, self.renewal_days
        )


class CredentialRequest(_DeviceRequest):
    """A device's request to register its own credential."""

    credential_hash: Hash


class RowRequest(_DeviceRequest):
    """The raw row of a volunteer: all values, or those that are not 0 with their places."""

    values: Annotated[list[Finite], Field(fail_fast=True)]
    indices: Places | None = None

    def numbers(self, dims: int) -> bytes:
        """The row as it is kept."""
        if self.indices is None:
            if len(self.values) != dims:
                raise ProblemError(422, f"a row of this collection has {dims} values, got {len(self.values)}")
            return np.array(self.values, dtype="<f8").tobytes()
        places = np.array(self.indices, dtype=np.int64)
        if len(places) != len(self.values) or len(set(self.indices)) != len(places):
            raise ProblemError(422, "indices must be different, and as many as values")
        if len(places) and int(places.max()) >= dims:
            raise ProblemError(422, f"indices must be below {dims}")
        row = np.zeros(dims, dtype="<f8")
        row[places] = self.values
        return row.tobytes()


class EnrolmentAnswer(BaseModel):
    """What a device is told once it takes part: its pseudonym and number, and the collection's key."""

    collection: str
    pseudonym: str
    user: int
    key: str


class OfferedCap(BaseModel):
    """The most that a collection spends of anybody."""

    epsilon: float
    delta: float


class OfferAnswer(BaseModel):
    """A collection's description of itself, which is public."""

    collection: str
    cap: OfferedCap
    purpose: str
    dims: int
    range: tuple[float, float] | None
    binary: bool
    classes: int
    volunteers: bool
    private_links: bool
    retention: int | None
    people: int
    key: str


class QuestionAnswer(BaseModel):
    """A signed question, in base64url."""

    payload: str
    signature: str


class SuccessionAnswer(BaseModel):
    """A change of the collection's key, signed by both keys, in base64url."""

    payload: str
    old: str
    new: str


class CountAnswer(BaseModel):
    """The number of different answers of one device."""

    answered: int


class ProbeAnswer(BaseModel):
    """The state of the process."""

    status: str


class ClosedAnswer(BaseModel):
    """A round that was closed."""

    round: int
    asked: int
    answered: int


class StatusAnswer(BaseModel):
    """The status of a collection, in counts and without any id."""

    model_config = ConfigDict(extra="allow")

    collection: str
    users: int
    rounds: list[dict[str, Any]]
    results: list[dict[str, Any]]
