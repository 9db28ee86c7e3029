"""Settings of all tests: hypothesis draws the same examples in every run, so a failure can be repeated."""

from hypothesis import settings

settings.register_profile("graphveil", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("graphveil")
