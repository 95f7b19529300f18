"""A plant on a source behind an impedance, what grid codes ask of it there, and what comes of it."""
