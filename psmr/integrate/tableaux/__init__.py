"""One-step methods as coefficient data."""
