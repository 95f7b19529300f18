"""What a scheme does to the modes of a run's system."""
