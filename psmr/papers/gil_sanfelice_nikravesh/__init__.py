"""Gil, Sanfelice and Nikravesh, the scheme of the slow manifold, reproduced."""

from psmr.papers.gil_sanfelice_nikravesh.reproduce import reproduce

__all__ = ["reproduce"]
