"""Gil, Sanfelice and Nikravesh: the scheme of the slow manifold."""
