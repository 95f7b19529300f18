"""Case files of psmr itself."""
