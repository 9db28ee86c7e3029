"""The messages around a plan and a report: a signed question to one device, and the envelope of its answer.

The envelope, version 1, little-endian:

    offset  size  field
    0       4     magic "GVEN"
    4       1     version, 1
    5       3     zero
    8       16    report id
    24      16    pseudonym
    40      32    digest of the plan's part
    72      4     length of the message
    76      ...   the message: reports of one user
    end     4     CRC-32 of all before

Signatures are made and checked elsewhere: nothing here knows about keys.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
import zlib
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from graphveil.checks import is_whole, short
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms.limits import MAX_MODEL
from graphveil.privacy.plan import MAX_ROUND, MAX_USERS, Plan, plan_digest

MAGIC, VERSION = b"GVEN", 1
HEADER = struct.Struct("<4sB3s16s16s32sI")
CHECKSUM = struct.Struct("<I")
HEX = re.compile("[0-9a-f]*")
# A report of this length is read, unless whoever reads knows how long one can be.
MAX_ENVELOPE = 1 << 20
FORMAT = "graphveil-question-1"
# What is signed begins with this, so that no signature of a question is one of anything else.
PREFIX = FORMAT.encode("ascii") + b"\n"
SIGNATURE_BYTES = 64
MAX_PURPOSE = 2000
# Questions that a device is sent at one time; more come at its next visit.
MAX_QUESTIONS = 32
# Bytes and values of JSON in a question that has no long lists, with a purpose that may be all commas; and bytes around it in a list.
ORDINARY, ORDINARY_VALUES, AROUND = 1 << 16, 4096, 256
# What long lists of a plan hold: a model has a row of weights for each class, or for each of so many hidden units. A number takes
# up to so many bytes, as integers of 16 bits do.
UNITS, NUMBER_BYTES = 256, 8
MAX_PAYLOAD = ORDINARY + NUMBER_BYTES * MAX_MODEL
# The end of the year 9999: later, no calendar has a day to show.
MAX_SECONDS = 253_402_300_799


@dataclass(frozen=True)
class Envelope:
    """A report on its way: whose it is, which plan it answers, and a number of its own. Ids are hexadecimal digits."""

    report: str
    pseudonym: str
    digest: str
    message: bytes

    def __post_init__(self) -> None:
        check_hex(self.report, "report id", 16)
        check_hex(self.pseudonym, "pseudonym", 16)
        check_hex(self.digest, "digest", 32)

    def to_bytes(self) -> bytes:
        """The envelope as it travels."""
        report, pseudonym, digest = map(bytes.fromhex, (self.report, self.pseudonym, self.digest))
        return sealed(report, pseudonym, digest, self.message)

    @classmethod
    def from_bytes(cls, data: bytes, limit: int = MAX_ENVELOPE) -> Envelope:
        """Read an envelope; whatever is wrong with it is said in a MessageError. The message inside is not looked at."""
        if len(data) > limit:
            raise MessageError(f"the envelope has {len(data)} bytes, at most {limit} are read")
        if len(data) < HEADER.size + CHECKSUM.size:
            raise MessageError(f"the envelope is truncated: {len(data)} bytes, it takes {envelope_size(0)}")
        magic, version, zero, report, pseudonym, mark, length = HEADER.unpack_from(data)
        if magic != MAGIC:
            raise MessageError(f"the envelope does not start with {MAGIC!r}: it is damaged or none")
        if version != VERSION or any(zero):
            raise MessageError(f"the envelope has version {version}, graphveil reads {VERSION}: update it")
        expected = HEADER.size + length + CHECKSUM.size
        if len(data) != expected:
            fault = "truncated" if len(data) < expected else "damaged"
            raise MessageError(f"the envelope is {fault}: {len(data)} bytes where its header says {expected}")
        if CHECKSUM.unpack_from(data, expected - CHECKSUM.size)[0] != zlib.crc32(data[: -CHECKSUM.size]):
            raise MessageError("the envelope is damaged: its checksum does not match")
        return cls(report.hex(), pseudonym.hex(), mark.hex(), bytes(data[HEADER.size : -CHECKSUM.size]))


def sealed(report: bytes, pseudonym: bytes, digest: bytes, message: bytes) -> bytes:
    """Return the bytes of an envelope around a message.

    Parameters
    ----------
    report, pseudonym
        The id of the report and the pseudonym of its sender, 16 bytes each.
    digest
        The digest of the plan's part, 32 bytes.
    message
        The reports of one user.
    """
    whole = HEADER.pack(MAGIC, VERSION, bytes(3), report, pseudonym, digest, len(message)) + message
    return whole + CHECKSUM.pack(zlib.crc32(whole))


def envelope_size(message: int) -> int:
    """Return the length of the envelope of a message of this length."""
    return HEADER.size + message + CHECKSUM.size


@dataclass(frozen=True)
class Question:
    """A server's question to one device in one round: the user's part of a plan, why, and until when.

    Times are whole seconds since 1970. ``round`` is the collection's; the plan has a round of its own.
    """

    collection: str
    round: int
    user: int
    plan: Plan
    published: int
    expires: int
    purpose: str

    def __post_init__(self) -> None:
        check_hex(self.collection, "collection", 16)
        check_integer(self.round, "round", 1, MAX_ROUND)
        check_integer(self.user, "user", 0, MAX_USERS - 1)
        check_integer(self.published, "published", 0, MAX_SECONDS)
        check_integer(self.expires, "expires", 0, MAX_SECONDS)
        if not isinstance(self.purpose, str) or len(self.purpose) > MAX_PURPOSE:
            raise MessageError(f"the purpose must be a text of at most {MAX_PURPOSE} characters")

    @property
    def digest(self) -> str:
        """The digest of the plan's part."""
        return plan_digest(self.plan)

    def payload(self) -> bytes:
        """The bytes that are signed: JSON in ASCII, keys sorted, no white space, the plan as `Plan.to_json` writes it."""
        plan = json.loads(self.plan.to_json())
        return statement_bytes({**vars(self), "digest": self.digest, "format": FORMAT, "plan": plan})

    @classmethod
    def from_payload(cls, payload: bytes, numbers: int = MAX_MODEL) -> Question:
        """Read a question; what is wrong with it is said in a MessageError, and in an InputError if it is the plan.

        ``numbers`` is how many its long lists may hold: see `question_numbers`. Nothing is parsed that has more.
        """
        told = read_object(payload, "question", payload_limit(numbers), ORDINARY_VALUES, numbers)
        names = (*cls.__dataclass_fields__, "digest", "format")
        if set(told) != set(names):
            raise MessageError(f"a question has the fields {', '.join(sorted(names))}, and no others")
        if told["format"] != FORMAT:
            raise MessageError(f"the question has format {short(told['format'])}, not {FORMAT}: update it")
        if not isinstance(told["plan"], dict):
            raise MessageError("the plan of a question must be a JSON object")
        held = {name: told[name] for name in cls.__dataclass_fields__}
        question = cls(**{**held, "plan": Plan(**told["plan"])})
        if told["digest"] != question.digest:
            raise MessageError("the digest of the question is not that of its plan: it is damaged")
        return question


def statement_bytes(told: dict[str, Any]) -> bytes:
    """Return the bytes of a statement that are signed: JSON in ASCII, keys sorted, no white space."""
    return json.dumps(told, sort_keys=True, separators=(",", ":")).encode("ascii")


@dataclass(frozen=True)
class Signed:
    """A statement's bytes; a subclass adds the Ed25519 signatures of them, as further fields."""

    # What is stated, what is signed before the payload, and the most bytes of a payload.
    noun: ClassVar[str]
    prefix: ClassVar[bytes]
    most: ClassVar[int]

    payload: bytes

    def __post_init__(self) -> None:
        payload, *signatures = vars(self).values()
        if not isinstance(payload, bytes) or len(payload) > self.most:
            raise MessageError(f"the payload of a {self.noun} must be bytes, at most {self.most}")
        if any(not isinstance(each, bytes) or len(each) != SIGNATURE_BYTES for each in signatures):
            raise MessageError(f"a signature must have {SIGNATURE_BYTES} bytes")

    @property
    def signed(self) -> bytes:
        """The bytes that the signatures are of."""
        return self.prefix + self.payload

    def as_dict(self) -> dict[str, str]:
        """Return the fields as JSON has them: words in base64."""
        return {name: base64.b64encode(part).decode("ascii") for name, part in vars(self).items()}

    @classmethod
    def from_dict(cls, told: Any) -> Self:
        """Read what came as JSON."""
        names = [each.name for each in fields(cls)]
        if not isinstance(told, dict) or set(told) != set(names):
            raise MessageError(f"a signed {cls.noun} must be an object with {', '.join(names)} alone")
        return cls(**{name: check_decoded(told[name], name) for name in names})


@dataclass(frozen=True)
class SignedQuestion(Signed):
    """A question's bytes with a signature of them: read it only after the signature was checked."""

    noun, prefix, most = "question", PREFIX, MAX_PAYLOAD

    signature: bytes


def question_numbers(dims: int, classes: int) -> int:
    """Return the most numbers in the long lists of a question, for so many attributes and classes."""
    return min(MAX_MODEL, (dims + 1) * max(UNITS, classes))


def payload_limit(numbers: int) -> int:
    """The most bytes of a question whose long lists hold so many numbers."""
    return ORDINARY + NUMBER_BYTES * numbers


def questions_limit(numbers: int) -> int:
    """The most bytes of a list of questions: one with so many numbers, and others without long lists."""
    return MAX_QUESTIONS * (4 * ORDINARY // 3 + AROUND) + 4 * NUMBER_BYTES * numbers // 3


def check_hex(value: Any, name: str, size: int) -> str:
    """Return hexadecimal digits, two a byte, lower case; refuse anything else.

    Parameters
    ----------
    value
        The digits.
    name
        The name used in the error message.
    size
        The number of bytes.
    """
    if not isinstance(value, str) or len(value) != 2 * size or HEX.fullmatch(value) is None:
        raise MessageError(f"the {name} must be {2 * size} hexadecimal digits, lower case")
    return value


def check_integer(value: Any, name: str, least: int, most: int) -> None:
    """Refuse anything but an integer within bounds.

    Parameters
    ----------
    value
        The number.
    name
        The name used in the error message.
    least, most
        Inclusive bounds.
    """
    if not is_whole(value) or not least <= value <= most:
        raise MessageError(f"{name} must be an integer from {least} to {most}, got {short(value)}")


def check_decoded(text: Any, name: str) -> bytes:
    """Return the bytes of a word in base64; refuse anything else."""
    if not isinstance(text, str) or len(text) > 2 * MAX_PAYLOAD:
        raise MessageError(f"the {name} must be a word in base64")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MessageError(f"the {name} must be a word in base64") from None


def read_object(text: bytes, what: str, limit: int, values: int, numbers: int = 0) -> dict[str, Any]:
    """Read a JSON object in ASCII; refuse one that names a field twice.

    Parameters
    ----------
    text
        The message.
    what
        The message's name in errors.
    limit, values, numbers
        The limits of `read_json`.
    """
    if not text.isascii():
        raise MessageError(f"the {what} must be written in ASCII")
    told = read_json(text, what, limit, values, numbers)
    if not isinstance(told, dict):
        raise MessageError(f"the {what} must be a JSON object")
    return told


def read_json(text: bytes, what: str, limit: int, values: int, numbers: int = 0) -> Any:
    """Read JSON within limits of size.

    Every value of JSON takes some 50 bytes of memory or more, however few it is written in, so they are counted before anything is made
    of them: lists, objects, names and words by the signs that they begin with, numbers by the commas between them.

    Parameters
    ----------
    text
        The message.
    what
        The message's name in errors.
    limit
        The most bytes.
    values
        The most values besides long lists.
    numbers
        The most numbers in long lists.
    """
    if len(text) > limit:
        raise MessageError(f"the {what} has {len(text)} bytes, at most {limit} are read")
    # A list in a long one is a row of weights, and has some of the numbers.
    begun = sum(text.count(sign) for sign in b'[{:"')
    if begun > values + numbers // 4 or text.count(b",") > values + numbers:
        raise MessageError(f"the {what} has more values than it can have use for")
    try:
        return json.loads(text, object_pairs_hook=_once)
    except InputError:
        raise
    except (ValueError, RecursionError):
        raise MessageError(f"the {what} is no JSON") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; two fields of one name would be read in two ways."""
    told = dict(pairs)
    if len(told) != len(pairs):
        raise MessageError("it names a field twice: what was signed is damaged")
    return told
