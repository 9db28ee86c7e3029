"""Computed figures come from a copy of the project, and an installed package says so."""

import pytest

from graphveil.errors import InputError
from graphveil.experiments import papers as computations
from graphveil.experiments.papers import FigureInput


def test_a_figure_is_computed_by_its_file():
    figure = computations.compute_figure("worst-variance", FigureInput(quick=True))
    assert figure.panels and figure.findings


def test_an_installed_package_names_what_it_lacks(monkeypatch, tmp_path):
    monkeypatch.setattr(computations, "REPRODUCE", tmp_path / "reproduce")
    computations.check_computation("worst-variance", "")
    with pytest.raises(InputError, match="run this in a copy of the project"):
        computations.compute_figure("worst-variance", FigureInput(quick=True))


def test_a_file_without_a_figure_is_not_offered():
    with pytest.raises(InputError, match="expected-error, walk-distance, worst-variance"):
        computations.compute_figure("exact", FigureInput())
