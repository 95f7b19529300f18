"""The equilibrium of a device or plant, with its set-points unknown."""
