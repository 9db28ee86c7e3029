"""Printed tables, as TOML files, and their numbers computed again."""
