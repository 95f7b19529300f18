"""Steps of their own: matrix exponentials, methods that choose their steps, methods along the arc."""
