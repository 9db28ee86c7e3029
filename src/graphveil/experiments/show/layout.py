"""Where users stand in a picture: a part of a graph drawn by its links, or rows of numbers brought to two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphveil.graphs import Graph

STEPS = 120
# t-SNE's perplexity, where there are enough users for it.
PERPLEXITY = 30.0


def close_group(graph: Graph, most: int, seed: int) -> NDArray[np.int64]:
    """Users who know each other: from one drawn by seed on, always the one with the largest share of links into the group."""
    count = graph.node_count
    most = min(most, count)
    inside, links = np.zeros(count, dtype=bool), np.zeros(count)
    user = int(np.random.default_rng(seed).choice(np.flatnonzero(graph.degrees == graph.degrees.max())))
    chosen: list[int] = []
    degrees = np.maximum(graph.degrees, 1)
    while True:
        chosen.append(user)
        inside[user] = True
        links[graph.indices[graph.indptr[user] : graph.indptr[user + 1]]] += 1
        if len(chosen) == most:
            return np.array(sorted(chosen), dtype=np.int64)
        user = int(np.where(inside, -1.0, links / degrees).argmax())


def spring_layout(pairs: NDArray[np.int64], count: int, seed: int) -> NDArray[np.float64]:
    """Places of users (n x 2), of whose links each is one of ``pairs`` (2 x links), by Fruchterman and Reingold (1991): links pull, everybody pushes, and steps grow smaller."""
    places = np.random.default_rng(seed).uniform(-0.5, 0.5, (count, 2))
    length = (1.0 / max(count, 1)) ** 0.5
    for step in range(STEPS):
        apart = places[:, None, :] - places[None, :, :]
        distance = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-4)
        move = (apart * (length / distance)[:, :, None] ** 2).sum(axis=1)
        between = places[pairs[0]] - places[pairs[1]]
        pull = between * (np.sqrt((between**2).sum(axis=1)) / length)[:, None]
        np.add.at(move, pairs[0], -pull)
        np.add.at(move, pairs[1], pull)
        size = np.maximum(np.sqrt((move**2).sum(axis=1)), 1e-9)[:, None]
        places += move / size * np.minimum(size, 0.1 * (1 - step / STEPS))
    return places


def flat_map(rows: NDArray[np.floating], seed: int) -> NDArray[np.float64]:
    """Rows of numbers brought to two by t-SNE (van der Maaten and Hinton, 2008): near ones stay near."""
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, max((len(rows) - 1) / 3, 1.0))
    method = TSNE(
        2, perplexity=perplexity, init="pca" if min(rows.shape) > 1 else "random", random_state=seed
    )
    return np.asarray(method.fit_transform(np.asarray(rows, dtype=np.float64)), dtype=np.float64)
