"""Measures: how numbers come out of experiments, by name, for sweeps and for printed tables."""
