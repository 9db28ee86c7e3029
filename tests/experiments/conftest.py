"""What tests of experiments are given."""

from tests.experiments.known import counted, forget_measures, sweep

__all__ = ["counted", "forget_measures", "sweep"]
