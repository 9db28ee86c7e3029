import json
import zipfile

import pytest

from graphveil import InputError
from graphveil.graphs.datasets import Dataset, SnapSource
from graphveil.graphs.store import fetch, read_snap

PAGES = SnapSource("pages.zip", "facebook", target="page_type")
TRAFFIC = SnapSource("wiki.zip", "crocodile", thresholds={"y": 100, "y_median": 11})
STREAMS = SnapSource("twitch.zip", "ES", user="new_id", target="mature")


@pytest.fixture
def archive(tmp_path):
    """Files as the archives have them: in folders, tables with headers, features as lists."""
    folder = tmp_path / "archive"

    def write(path, text):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")

    write("large/musae_facebook_edges.csv", "id_1,id_2\n0,1\n1,2\n2,2\n")
    write(
        "large/musae_facebook_target.csv",
        'id,facebook_id,page_name,page_type\n0,7,"A, B",tvshow\n1,8,Ünal,company\n2,9,C,tvshow\n',
    )
    write("large/musae_facebook_features.json", json.dumps({"0": [3, 1, 3], "2": [0], "1": []}))
    write("wikipedia/crocodile/musae_crocodile_edges.csv", "id1,id2\n0,1\n")
    write("wikipedia/crocodile/musae_crocodile_target.csv", "id,target\n1,10\n0,100\n2,11\n")
    write("wikipedia/crocodile/musae_crocodile_features.json", json.dumps({"0": [], "1": [], "2": [1]}))
    write("twitch/ES/musae_ES_edges.csv", "from,to\n0,1\n")
    write(
        "twitch/ES/musae_ES_target.csv",
        "id,days,mature,views,partner,new_id\n99,1,True,5,False,1\n98,1,False,5,False,0\n",
    )
    write("twitch/ES/musae_ES_features.json", json.dumps({"1": [2], "0": [0]}))
    return folder


def test_lists_of_features_words_and_edges_are_read(archive):
    raw = read_snap(PAGES, 5, archive)
    assert raw.features.toarray().tolist() == [[0, 1, 0, 1, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]
    # Words become labels in alphabetical order.
    assert raw.labels.tolist() == [1, 0, 1]
    assert raw.edges.tolist() == [[0, 1], [1, 2], [2, 2]]


def test_numbers_become_labels_by_their_thresholds(archive):
    raw = read_snap(TRAFFIC, 2, archive)
    assert raw.labels.tolist() == [1, 0, 0]
    assert raw.other_labels["y_median"].tolist() == [1, 0, 1]


def test_users_can_be_numbered_by_another_column(archive):
    raw = read_snap(STREAMS, 3, archive)
    assert raw.labels.tolist() == [0, 1]
    assert raw.features.toarray().argmax(axis=1).tolist() == [0, 2]
    # A single edge is still a pair.
    assert raw.edges.tolist() == [[0, 1]]


def test_an_archive_is_downloaded_and_unpacked(archive, places, monkeypatch):
    asked = []

    def download_url(url, folder):
        asked.append(url)
        path = f"{folder}/pages.zip"
        with zipfile.ZipFile(path, "w") as file:
            for source in archive.rglob("*facebook*"):
                file.write(source, source.relative_to(archive))
        return path

    monkeypatch.setattr("torch_geometric.data.download_url", download_url)
    known = Dataset("pages", "", 3, None, 5, 2, "binary", None, PAGES)
    assert fetch(known).labels.tolist() == [1, 0, 1]
    assert asked == ["https://snap.stanford.edu/data/pages.zip"]


def test_an_archive_that_does_not_fit_is_refused(archive):
    with pytest.raises(ValueError, match="exceeds"):
        read_snap(PAGES, 3, archive)
    file = archive / "large" / "musae_facebook_target.csv"
    file.write_text("id,page_type\n0,a\n2,b\n")
    with pytest.raises(InputError, match=r"does not number its users 0\.\.1"):
        read_snap(PAGES, 5, archive)
    file.unlink()
    with pytest.raises(InputError, match=r"0 files are named \*facebook\*target\.csv"):
        read_snap(PAGES, 5, archive)
