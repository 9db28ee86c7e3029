"""One's own graphs: from arrays, PyG and networkx, and back to PyG.

Each function that brings a graph in returns its two sides. Features come with the public range that
they are known to lie in; it is never read off the data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.divide import divide
from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.graphs.npz import Raw, with_label
from graphveil.graphs.splits import GivenSplit, recipe_of
from graphveil.graphs.users import Users

if TYPE_CHECKING:
    from torch_geometric.data import Data

# A sparse float32 entry takes a value and an index, twice a dense one: below this share of entries CSR is smaller.
SPARSE_SHARE = 0.5


def from_arrays(
    edges: Any,
    features: Any = None,
    labels: Any = None,
    *,
    range: Any = None,
    binary: bool = False,
    users: int | None = None,
    split: Any = "random",
    seed: int = 0,
    metric: str | None = None,
    feature_names: Any = None,
    panel: Any = None,
    ids: Any = None,
    name: str = "mine",
) -> tuple[Graph, Users]:
    """Return a graph and its users, from arrays.

    Parameters
    ----------
    edges
        Pairs of users (E x 2, int) or a square sparse matrix. Both directions are meant; self-loops and
        repeats drop out.
    features
        A dense array or a sparse matrix: (users, features).
    labels
        (users,) int, the class of each user or -1 where unknown; or (users, labels) of 0 and 1, where a user
        may have any number of labels.
    range
        The public range of the features: (low, high). It is never read off the data.
    binary
        Whether features are only ever the two ends of the range.
    users
        The number of users, where arrays do not say it.
    split
        "random", "few", masks (`Split`) or a recipe.
    seed
        The seed of the split.
    metric
        "accuracy" by default, "f1" where users have several labels each.
    panel
        (users,) bool: the volunteers, whose raw rows become known to the server.
    ids
        The names that users have elsewhere, one a user.

    >>> graph, users = from_arrays([[0, 1], [1, 2], [2, 3]], np.eye(4), [0, 1, 0, 1], range=(0, 1))
    >>> graph
    Graph(mine, 4 users, 3 edges, 4 features, 2 classes, 2/1/1)
    """
    if hasattr(edges, "tocoo"):
        matrix = edges.tocoo()
        edges, users = np.stack([matrix.row, matrix.col], axis=1), users or int(matrix.shape[0])
    if features is not None and not hasattr(features, "tocsr"):
        features = np.asarray(features)
    names = None if feature_names is None else tuple(map(str, feature_names))
    labels, panel, ids = (None if each is None else np.asarray(each) for each in (labels, panel, ids))
    raw = Raw(np.asarray(edges), labels, features, range, binary, metric, names, panel=panel, ids=ids)
    return divide(name, raw, recipe_of(split), seed, users=users)


def from_pyg(
    data: Data,
    *,
    range: Any = None,
    binary: bool = False,
    split: Any = None,
    seed: int = 0,
    label: int | None = None,
    metric: str | None = None,
    ids: Any = None,
    name: str = "mine",
) -> tuple[Graph, Users]:
    """Return a graph and its users, from PyG's ``Data``.

    ``edge_index``, ``x``, ``y`` and the masks are read, where there are some; ``panel_mask`` marks
    volunteers.

    Parameters
    ----------
    range, binary, seed, metric, ids, name
        As in `from_arrays`.
    split
        The name of a split or a recipe; by default the masks that come with the data, else random.
    label
        The number of the label that is taken where users have several.
    """
    ids = None if ids is None else np.asarray(ids)
    raw = replace(raw_from_pyg(data), range=range, binary=binary, metric=metric, ids=ids)
    raw = with_label(name, raw, label)
    recipe = recipe_of(split or ("given" if raw.given is not None else "random"), raw.given)
    return divide(name, raw, recipe, seed, users=int(data.num_nodes))


def to_pyg(graph: Graph, users: Users | None = None) -> Data:
    """A graph as PyG's ``Data``: what the server knows, with -1 for labels that it does not know.

    With ``users``, their raw features and all labels too: nothing is private then.
    """
    import torch
    from torch_geometric.data import Data

    data = Data(
        edge_index=torch.from_numpy(graph.edge_list()),
        y=torch.from_numpy(np.array(graph.labels)),
        train_mask=torch.from_numpy(np.array(graph.train)),
        val_mask=torch.from_numpy(np.array(graph.validation)),
        test_mask=torch.from_numpy(np.array(graph.test)),
        num_nodes=graph.node_count,
    )
    if graph.panel is not None:
        data.panel_mask = torch.zeros(graph.node_count, dtype=torch.bool)
        data.panel_mask[torch.from_numpy(np.array(graph.panel.users))] = True
    if users is not None:
        data.y = torch.from_numpy(np.array(users.raw.labels))
        if graph.feature_count:
            features = users.raw.rows()
            dense = features.toarray() if hasattr(features, "tocsr") else features
            data.x = torch.from_numpy(np.array(dense, dtype=np.float32))
    return data


def from_networkx(
    network: Any, *, features: str | list[str] | None = None, label: str | None = None, **options: Any
) -> tuple[Graph, Users]:
    """Return a graph and its users, from networkx.

    Users are numbered in the order of the nodes; nodes that are text or integers are their ids.

    Parameters
    ----------
    features
        The node attribute that holds a list of numbers, or a list of attributes that hold a number each.
    label
        The node attribute that holds the label. Its values are numbered in sorted order; a node without it
        has no label.
    options
        Other options of `from_arrays`: ``range``, ``binary``, ``split``, ``seed``, ``metric``, ``name``.
    """
    nodes = list(network.nodes)
    number = {node: place for place, node in enumerate(nodes)}
    pairs = [(number[first], number[second]) for first, second in network.edges()]
    return from_arrays(
        np.array(pairs, dtype=np.int64).reshape(-1, 2),
        None if features is None else _node_features(network, nodes, features),
        None if label is None else _node_labels(network, nodes, label),
        users=len(nodes),
        feature_names=features if isinstance(features, list) else None,
        **{"ids": _node_ids(nodes), **options},
    )


def raw_from_pyg(data: Data) -> Raw:
    """Everything that PyG's ``Data`` holds and graphveil can use."""
    if getattr(data, "edge_index", None) is None:
        raise InputError("this Data has no edge_index: a graph needs its edges")
    # PyG's masks have one entry a user, or a column a split.
    masks: list[Any] = [getattr(data, f"{part}_mask", None) for part in ("train", "val", "test")]
    whole, panel = all(mask is not None for mask in masks), getattr(data, "panel_mask", None)
    labels = None if data.y is None else data.y.detach().cpu().numpy()
    if labels is not None and labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    return Raw(
        edges=data.edge_index.detach().cpu().numpy().T,
        labels=labels,
        features=None if data.x is None else _tensor_features(data.x),
        given=GivenSplit(*(mask.detach().cpu().numpy().T for mask in masks)) if whole else None,
        panel=None if panel is None else panel.detach().cpu().numpy(),
    )


def _tensor_features(tensor: Any) -> Any:
    """A tensor as CSR where that is smaller, else as a dense array."""
    import torch
    from scipy.sparse import coo_array, csr_array

    tensor = tensor.detach().cpu()
    shape = tuple(tensor.shape)
    if tensor.layout == torch.sparse_csr:
        parts = (tensor.values(), tensor.col_indices(), tensor.crow_indices())
        return csr_array(tuple(part.numpy() for part in parts), shape=shape)
    if tensor.layout == torch.sparse_coo:
        tensor = tensor.coalesce()
        return coo_array((tensor.values().numpy(), tuple(tensor.indices().numpy())), shape=shape).tocsr()
    dense = tensor.numpy()
    if dense.ndim == 2 and dense.size and np.count_nonzero(dense) < SPARSE_SHARE * dense.size:
        return csr_array(dense)
    return dense


def _node_ids(nodes: list[Any]) -> NDArray[Any] | None:
    """The nodes themselves, where all are text or all are integers."""
    for kind in (str, int):
        if nodes and all(type(node) is kind for node in nodes):
            ids = np.array(nodes)
            return ids if ids.dtype.kind in "iuU" else None
    return None


def _node_features(network: Any, nodes: list[Any], features: str | list[str]) -> NDArray[np.float64]:
    names = [features] if isinstance(features, str) else features
    for node in nodes:
        for attribute in names:
            if attribute not in network.nodes[node]:
                raise InputError(f"node {node!r} has no attribute {attribute!r}: give all nodes all features")
    if isinstance(features, str):
        rows = [network.nodes[node][features] for node in nodes]
    else:
        rows = [[network.nodes[node][attribute] for attribute in features] for node in nodes]
    try:
        return np.array(rows, dtype=np.float64).reshape(len(nodes), -1)
    except (TypeError, ValueError):
        raise InputError(f"features must be numbers, as many a node: see attribute {names[0]!r}") from None


def _node_labels(network: Any, nodes: list[Any], label: str) -> NDArray[np.int64]:
    held = [network.nodes[node].get(label) for node in nodes]
    try:
        values = sorted({value for value in held if value is not None})
    except TypeError:
        raise InputError(f"labels in {label!r} cannot be sorted: use numbers only, or words only") from None
    if not values:
        raise InputError(f"no node has the attribute {label!r}, which should hold its label")
    number = {value: place for place, value in enumerate(values)}
    return np.array([UNKNOWN if value is None else number[value] for value in held], dtype=np.int64)
