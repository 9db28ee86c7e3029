"""What tests of experiments are given."""

from tests.experiments.known import counted, sweep

__all__ = ["counted", "sweep"]
