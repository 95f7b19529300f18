"""A local page on runs: edit a study on its one-line diagram, run it, compare what schemes make of it."""
