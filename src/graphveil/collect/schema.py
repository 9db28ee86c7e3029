"""The tables of a collection, in SQLite and in PostgreSQL. A change here is one more file in migrations/versions."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData()
# Days are counted from 1970; no finer time is kept of what people do.
SECONDS_A_DAY = 86_400

# One row: which collection the database belongs to.
COLLECTION = Table(
    "collection",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("purpose", Text, nullable=False),
)

# The public graph as it was at times; its file stands in the collection's folder.
GRAPHS = Table(
    "graphs",
    METADATA,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("users", Integer, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("added", BigInteger, nullable=False),
)

# Who was invited, and what they agreed to. Tokens and credentials are there as SHA-256 alone.
ROSTER = Table(
    "roster",
    METADATA,
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("external", Text, nullable=False, unique=True),
    Column("pseudonym", LargeBinary(16), nullable=False, unique=True),
    Column("token", LargeBinary(32), nullable=False, unique=True),
    # Whether the token was used; somebody who is enrolled may have a new one.
    Column("redeemed", Boolean, nullable=False),
    Column("credential", LargeBinary(32), unique=True),
    # Whether a collector of an earlier version made the credential: then it only serves to register the device's own.
    Column("derived", Boolean, nullable=False),
    Column("epsilon", Float),
    Column("delta", Float),
    # Caps of privacy levels, a JSON list; after how many days a cap is renewed; and on which day the user enrolled.
    Column("by_level", Text),
    Column("renewal", Integer),
    Column("since", Integer),
    # Attributes that no question may depend on: a JSON list of numbers.
    Column("excluded", Text),
    Column("volunteer", Boolean),
    Column("forgotten", Boolean, nullable=False),
)

# Published plans. They are frozen: only `closed` changes, and how many reports went when their time was over.
ROUNDS = Table(
    "rounds",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("plan", LargeBinary, nullable=False),
    Column("digest", String(64), nullable=False),
    # What it was published for: rounds of one study belong together.
    Column("study", Text, nullable=False),
    # Whom it asks: numbers of nodes, four bytes each, little-endian, in the plan's order.
    Column("asked", LargeBinary, nullable=False),
    Column("graph", Integer, nullable=False),
    Column("published", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("closed", Boolean, nullable=False),
    Column("deleted", Integer, nullable=False),
)

# What arrived: one message a user and round. Rounds that ask a user the same have the same answer, under the same id.
REPORTS = Table(
    "reports",
    METADATA,
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("report", LargeBinary(16), nullable=False),
    Column("message", LargeBinary, nullable=False),
    Column("day", Integer, nullable=False),
    UniqueConstraint("round", "report", name="one_report"),
)

# Raw rows of volunteers, little-endian doubles.
ROWS = Table(
    "rows",
    METADATA,
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("numbers", LargeBinary, nullable=False),
    Column("day", Integer, nullable=False),
)

# What was learned; `outdated` says that reports which it was learned with were forgotten since.
RESULTS = Table(
    "results",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("card", Text, nullable=False),
    Column("made", BigInteger, nullable=False),
    Column("outdated", Boolean, nullable=False),
)

# Who may operate over HTTP; of a token only its SHA-256 is there.
OPERATORS = Table(
    "operators",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("token", LargeBinary(32), nullable=False, unique=True),
    Column("added", BigInteger, nullable=False),
)

# What operators did; no name, no number of a user.
ACTIONS = Table(
    "actions",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("action", String(32), nullable=False),
    Column("detail", Text, nullable=False),
)
