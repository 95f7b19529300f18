"""Places for the nodes of a graph: distances on paper follow those along the edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import shortest_path

from psmr.base.arrays import Reals

ITERATIONS = 500
SETTLED = 1e-7  # relative decrease of the stress in an iteration

# The circle is the same on every machine; classical scaling turns with the rounding of equal eigenvalues.
BETTER = 0.98


def stress_layout(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, tuple[float, float]]:
    """Return places within [-1, 1] at which the weighted stress is smallest, sought from two starts.

    The stress is that of Kamada and Kawai (An algorithm for drawing general undirected graphs, 1989), each
    error relative to the distance; it is minimised by majorisation (Gansner, Koren and North, Graph drawing
    by stress majorization, 2004). It costs the cube of the number of nodes.
    """
    n = len(nodes)
    place = {node: k for k, node in enumerate(nodes)}
    ends = np.array([(place[a], place[b]) for a, b in edges], dtype=np.int32).reshape(-1, 2)
    joined = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()
    distance = shortest_path(joined, directed=False, unweighted=True)
    # Parts without a path between them stand beside one another.
    distance[np.isinf(distance)] = 1.0 + distance[np.isfinite(distance)].max(initial=0.0)
    weight = np.divide(1.0, distance**2, out=np.zeros_like(distance), where=distance > 0.0)
    starts = (_circle(distance), _scaling(distance)) if n > 2 else (_circle(distance),)
    found = [_settled(start, distance, weight) for start in starts]
    at = found[-1][1] if found[-1][0] < BETTER * found[0][0] else found[0][1]
    at -= at.mean(axis=0)
    at /= max(np.abs(at).max(initial=0.0), 1e-12)
    return {node: (float(x), float(y)) for node, (x, y) in zip(nodes, at, strict=True)}


def _settled(at: Reals, distance: Reals, weight: Reals) -> tuple[float, Reals]:
    """Return the stress that majorisation comes to, and the places."""
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    last = np.inf
    for _ in range(ITERATIONS):
        apart = _distances(at)
        stress = float((weight * (apart - distance) ** 2).sum())
        settled, last = stress == 0.0 or last - stress < SETTLED * last, stress
        if settled:
            break
        pull = np.divide(weight * distance, apart, out=np.zeros_like(apart), where=apart > 0.0)
        at = inverse @ ((np.diag(pull.sum(axis=1)) - pull) @ at)
    return last, at


def _circle(distance: Reals) -> Reals:
    angle = 2.0 * np.pi * np.arange(len(distance)) / len(distance)
    return 0.5 * distance.max() * np.column_stack([np.cos(angle), np.sin(angle)])


def _scaling(distance: Reals) -> Reals:
    """Return the two leading coordinates of classical scaling, each with its largest entry positive."""
    n = len(distance)
    centre = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ distance**2 @ centre)
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(n)]
    return (vectors * np.sign(largest) * np.sqrt(np.maximum(values, 0.0)))[:, :-3:-1]


def _distances(at: Reals) -> Reals:
    return np.asarray(np.linalg.norm(at[:, None, :] - at[None, :, :], axis=2))
