"""The connected parts of a network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

Node = TypeVar("Node", int, str)


def connected_parts(nodes: Iterable[Node], edges: Iterable[tuple[Node, Node]]) -> list[frozenset[Node]]:
    """Return the nodes of each connected part, in the order of their first nodes."""
    place = {node: k for k, node in enumerate(dict.fromkeys(nodes))}
    if not place:
        return []
    ends = np.array([(place[a], place[b]) for a, b in edges], dtype=int).reshape(-1, 2)
    shape = (len(place), len(place))
    joined = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=shape)
    count, labels = connected_components(joined, directed=False)
    parts: list[set[Node]] = [set() for _ in range(count)]
    for node, label in zip(place, labels, strict=True):
        parts[label].add(node)
    return [frozenset(part) for part in parts]
