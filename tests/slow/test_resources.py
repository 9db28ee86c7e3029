"""What graphveil needs: memory of whole runs, each in a process of its own."""

import json
import subprocess
import sys

from tests.graphs.real import needs_data

IMPORT = """
import resource, torch, torch_geometric.nn
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
RUN = "from graphveil.cli import main; main()"


def peak(*arguments):
    """Peak megabytes of a run."""
    command = [sys.executable, "-c", RUN, "run", *arguments, "--runs", "1", "--no-control", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["peak_mb"]


@needs_data("facebook")
def test_facebook_trains_within_400_megabytes_of_importing_torch(shows):
    imported = float(
        subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True).stdout
    )
    trained = peak("base", "--data", "facebook", "--epsilon", "1", "--set", "epochs=100")
    shows(f"{trained - imported:.0f} MB, at most 400")
    assert trained - imported <= 400


def test_a_town_of_a_million_trains_within_8_gigabytes(shows):
    sizes = ("--set", "data.users=1000000", "--set", "data.degree=20", "--set", "epochs=20")
    megabytes = peak("base", "--data", "town", "--epsilon", "1", *sizes)
    shows(f"{megabytes:.0f} MB, at most 8000")
    assert megabytes <= 8000


def test_a_town_of_a_million_is_embedded_within_10_gigabytes(tmp_path, shows):
    sizes = ("--set", "data.users=1000000", "--set", "data.degree=20")
    asked = ("ldpge", "--data", "town", "--epsilon", "1", *sizes, "--out", str(tmp_path / "town.npz"))
    command = [sys.executable, "-c", RUN, "embed", *asked, "--json"]
    done = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    shows(f"{done['peak_mb']:.0f} MB, at most 10000")
    assert done["shape"] == [1_000_000, 64]
    assert done["peak_mb"] <= 10_000


@needs_data("facebook")
def test_order_h_n_holds_one_and_a_half_dense_matrices_at_most(shows):
    asked = ("upgnet", "--data", "facebook", "--epsilon", "1", "--set", "epochs=2", "--set")
    megabytes = 22_470 * 4_714 * 4 / 2**20
    sparse, dense = (peak(*asked, f"order={order}") for order in ("N-H", "H-N"))
    shows(f"{(dense - sparse) / megabytes:.2f} matrices, at most 1.5")
    assert dense - sparse <= 1.5 * megabytes


@needs_data("cora")
def test_hops_cost_no_memory(shows):
    asked = ("upgnet", "--data", "cora", "--epsilon", "1", "--set", "epochs=20", "--set")
    few, many = (peak(*asked, f"hops={hops}") for hops in (1, 64))
    shows(f"{many - few:.1f} MB, at most 5")
    assert many - few <= 5


@needs_data("co-phy")
def test_two_rounds_on_co_phy_fit_into_two_and_a_half_gigabytes(shows):
    megabytes = peak("togl", "--data", "co-phy", "--epsilon", "10")
    shows(f"{megabytes:.0f} MB, at most 2500")
    assert megabytes <= 2500
