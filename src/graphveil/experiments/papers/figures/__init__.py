"""Figures of papers that are no experiments: each is computed by a file of its own."""
