"""Sweeps: one experiment at several values of some of its fields, and the packaged ones as TOML files."""
