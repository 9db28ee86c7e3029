"""Packages whose modules are loaded when they are first used; `test_surface.py` looks at what is loaded then."""

import pytest

from graphveil import linear
from graphveil.lazy import lazy_names
from graphveil.linear.sparse import SparseMatrix


def test_a_name_is_what_its_module_holds():
    assert linear.SparseMatrix is SparseMatrix


def test_a_module_is_found_by_its_own_name():
    assert linear.sparse.SparseMatrix is SparseMatrix


def test_an_unknown_name_is_an_attribute_error_that_names_the_package():
    with pytest.raises(AttributeError, match="module 'graphveil.linear' has no attribute 'nothing'"):
        linear.nothing  # noqa: B018


def test_a_package_lists_the_names_that_type_checkers_see(tmp_path):
    (tmp_path / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from graphveil.linear import kernels as kernels\n"
        "    from graphveil.linear.sparse import SparseMatrix as SparseMatrix\n"
    )
    find, names = lazy_names("graphveil.linear", str(tmp_path / "__init__.py"))
    assert names() == ["SparseMatrix", "kernels"] and find("__all__") == ["SparseMatrix", "kernels"]
    assert find("SparseMatrix") is SparseMatrix and find("kernels").__name__ == "graphveil.linear.kernels"
