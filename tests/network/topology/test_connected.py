"""The connected parts of a network, against networkx."""

import networkx as nx
import pytest

from tests.internals import connected_parts


@pytest.mark.parametrize("seed", range(5))
def test_parts_are_those_of_networkx(seed):
    graph = nx.gnm_random_graph(60, 40, seed=seed)
    parts = connected_parts(graph.nodes, graph.edges)
    assert [set(part) for part in parts] == list(nx.connected_components(graph))


def test_without_nodes_or_edges():
    assert connected_parts([], []) == []
    assert connected_parts(["a", "b"], []) == [frozenset("a"), frozenset("b")]
    assert connected_parts([1, 2, 3], [(2, 3), (3, 2), (2, 2)]) == [frozenset({1}), frozenset({2, 3})]
