"""What is kept of a run: signals, points, estimated error, work."""
