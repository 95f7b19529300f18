"""Verdicts on runs with random events, held against an oracle that shares no code with the detectors."""
