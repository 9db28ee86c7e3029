"""Kept records: the database, the source that computed them, and when one may be reused."""
