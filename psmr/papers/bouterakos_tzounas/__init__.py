"""Bouterakos and Tzounas: the theta method on systems with delayed variables."""
