"""An attack on psmr with a seed and a budget: ``python -m tests.programs.attack --seed 1 --seconds 120``."""
