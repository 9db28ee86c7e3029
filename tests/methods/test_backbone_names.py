import pytest

from graphveil.errors import InputError, UnknownNameError
from graphveil.methods.method import backbone_digest, check_backbone
from tests.fixtures import printed_by
from tests.packages import install

pytestmark = pytest.mark.usefixtures("forget_outside")

WITHOUT_TORCH = """
import sys
from graphveil.errors import UnknownNameError
from graphveil.methods.method import backbone_digest, check_backbone
check_backbone("gcn")
assert backbone_digest("gcn") is None
try:
    check_backbone("gnc")
except UnknownNameError:
    print("torch" in sys.modules)
"""
LAYERS = "import torch\n\nclass Own(torch.nn.Linear):\n    pass\n\nnumber = 3\n"
GROUP = "graphveil.backbones"


def test_the_library_s_own_are_checked_without_torch():
    assert printed_by(WITHOUT_TORCH).strip() == "False"


def test_one_of_a_file_is_loaded_if_it_is_a_backbone(tmp_path):
    (tmp_path / "layers.py").write_text(LAYERS)
    check_backbone(f"{tmp_path}/layers.py:Own")
    assert len(backbone_digest(f"{tmp_path}/layers.py:Own")) == 64
    with pytest.raises(InputError, match="is no backbone but a int"):
        check_backbone(f"{tmp_path}/layers.py:number")


def test_one_of_a_package_is_loaded_and_depends_on_its_version(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {GROUP: {"own": "Own"}}, LAYERS)
    check_backbone("own")
    assert backbone_digest("own") == "of-a-test 1.5"


def test_an_unknown_name_is_refused_with_all_names(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {GROUP: {"own": "Own"}}, "raise AssertionError\n")
    with pytest.raises(UnknownNameError, match=r"choose one of gcn, .*, mlp, own; did you mean 'sgc'\?"):
        check_backbone("gnc")
