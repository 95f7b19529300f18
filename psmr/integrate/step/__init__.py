"""What one step of a scheme does."""
