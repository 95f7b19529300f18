"""What a run leaves: signals, certificate, work."""
