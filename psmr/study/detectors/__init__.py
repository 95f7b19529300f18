"""Detectors: what the points of a run show, one kind a file, each with its definition, unit and source."""
