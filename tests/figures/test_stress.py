"""Places of nodes on paper: the stress against networkx's layout of Kamada and Kawai."""

import networkx as nx
import numpy as np
import pytest

from tests.internals import stress_layout


def stress(graph, place):
    """The sum over pairs of the squared relative error, at the best scale."""
    ideal = dict(nx.all_pairs_shortest_path_length(graph))
    pairs = [(a, b) for a in graph for b in graph if a < b]
    ratio = np.array([np.hypot(*np.subtract(place[a], place[b])) / ideal[a][b] for a, b in pairs])
    scale = ratio.sum() / (ratio**2).sum()
    return float(((scale * ratio - 1.0) ** 2).sum())


GRAPHS = {
    "ring with spurs": nx.Graph([*((f"{k}", f"{(k + 1) % 6}") for k in range(6)), ("0", "a"), ("2", "b")]),
    "ladder": nx.relabel_nodes(nx.ladder_graph(8), str),
    "tree": nx.relabel_nodes(nx.balanced_tree(2, 4), str),
    "meshed": nx.relabel_nodes(nx.connected_watts_strogatz_graph(40, 4, 0.2, seed=3), str),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_the_stress_is_about_that_of_networkx(graph):
    ours = stress(graph, stress_layout(list(graph), list(graph.edges)))
    assert ours < 1.15 * stress(graph, nx.kamada_kawai_layout(graph)) + 1e-6


def test_a_line_is_straight_and_its_nodes_evenly_apart():
    place = stress_layout(list("abcd"), [("a", "b"), ("b", "c"), ("c", "d")])
    steps = np.diff([place[name] for name in "abcd"], axis=0)
    np.testing.assert_allclose(steps, steps[[0, 0, 0]], atol=1e-2)


def test_parts_without_a_path_between_them_and_single_nodes():
    assert stress_layout(["a"], []) == {"a": (0.0, 0.0)}
    place = stress_layout(list("abcd"), [("a", "b"), ("c", "d")])
    assert all(np.isfinite(xy).all() for xy in place.values())
    assert len({tuple(np.round(xy, 6)) for xy in place.values()}) == 4
