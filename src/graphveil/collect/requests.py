"""Requests: their address, headers and body, read as far as allowed and no further, and the JSON of devices."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.types import Receive

from graphveil.collect.folder import CollectionSettings
from graphveil.collect.problems import ProblemError
from graphveil.collect.roster import RosterAgreement
from graphveil.errors import InputError
from graphveil.privacy.invitation import Invitation

ROUND_FORM, REPORT_FORM = re.compile(r"[1-9][0-9]{0,6}"), re.compile(r"[0-9a-f]{32}")
# Longer than any length; a number of thousands of digits is not worth reading.
LENGTH_DIGITS = 18
BEARER = b"bearer"
# Headers of answers that are for one device, or for operators.
PRIVATE = {"Cache-Control": "no-store"}
# As they come: names in lower case, with their values.
Headers = Iterable[tuple[bytes, bytes]]
# Read by hand, because everybody's reports pass here.
ADDRESS: list[dict[str, Any]] = [
    {
        "name": "round",
        "in": "path",
        "required": True,
        "description": "The number of the round.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 9_999_999},
    },
    {
        "name": "report",
        "in": "path",
        "required": True,
        "description": "An id of the report's own.",
        "schema": {"type": "string", "pattern": f"^{REPORT_FORM.pattern}$"},
    },
]

Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=True, ge=0, lt=1 << 31)]
MAX_PROBLEMS, MAX_LEVELS = 3, 64
# Nobody has a budget that is counted in millions.
MAX_EPSILON = 1e6

# The SHA-256 of a credential that the device has drawn.
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

M = TypeVar("M", bound=BaseModel)


class GoneError(Exception):
    """The sender disconnected before the whole body arrived: nobody waits for an answer."""


def read_address(round: str, report: str) -> tuple[int, str]:
    """The round and the report that a path names."""
    if ROUND_FORM.fullmatch(round) is None or REPORT_FORM.fullmatch(report) is None:
        raise ProblemError(422, "a path names a round by its number, a report by 32 lower-case hex digits")
    return int(round), report


def header(headers: Headers, name: bytes) -> bytes:
    """The first header of this name, which is in lower case; empty where there is none."""
    for each, value in headers:
        if each == name:
            return value
    return b""


def bearer(headers: Headers) -> str | None:
    """Return the bearer credential of a request; None where it has none."""
    scheme, _, credential = header(headers, b"authorization").partition(b" ")
    if scheme.lower() != BEARER or not credential:
        return None
    return credential.decode("latin-1")


async def read_body(headers: Headers, receive: Receive, limit: int) -> bytes:
    """Read a body that is not too large; one whose length says that it is, is not read at all.

    Parameters
    ----------
    headers
        The headers of the request.
    receive
        The ASGI function that returns the next part.
    limit
        The most bytes that are allowed.
    """
    told = header(headers, b"content-length")
    if told.isdigit() and (len(told) > LENGTH_DIGITS or int(told) > limit):
        raise _too_large(limit)
    body = bytearray()
    while True:
        part = await receive()
        if part["type"] == "http.disconnect":
            raise GoneError
        body += part.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit)
        if not part.get("more_body", False):
            return bytes(body)


def _too_large(limit: int) -> ProblemError:
    return ProblemError(413, f"at most {limit} bytes are taken here", {"Connection": "close"})


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
    excluded: list[Whole] = []
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

    values: list[Finite]
    indices: list[Whole] | None = None

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


def parse_request(model: type[M], body: bytes) -> M:
    """Parse the body of a device's request.

    A ProblemError names the fields that are wrong, without their values.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        wrong = [
            f"{'.'.join(map(str, problem['loc'])) or 'the body'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        raise ProblemError(422, "; ".join(wrong[:MAX_PROBLEMS])) from None
    except InputError as error:
        raise ProblemError(422, str(error)) from None


def json_body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI description of a body of this model."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def definitions(*models: type[BaseModel]) -> dict[str, Any]:
    """Return the schemas that those of these models refer to."""
    found: dict[str, Any] = {}
    for model in models:
        found |= model.model_json_schema(ref_template="#/components/schemas/{model}").get("$defs", {})
    return json.loads(json.dumps(found)) if found else {}
