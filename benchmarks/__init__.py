"""Speed and memory, always as a ratio to a stated reference that is measured in the same run.

``python -m benchmarks`` runs all of them; README.md says what each one measures.
"""
