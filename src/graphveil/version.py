"""The version of graphveil, for whatever keeps it beside a result."""

__version__ = "0.1.0"
