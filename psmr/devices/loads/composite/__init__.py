"""The composite load: a substation, a feeder, and what is used at its end."""
