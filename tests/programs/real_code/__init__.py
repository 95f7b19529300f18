"""A manufacturer's own controller in its published test circuit: an oracle of three-phase equations."""
