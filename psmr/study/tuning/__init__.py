"""The cheapest scheme for an accuracy."""
