"""Files to cases."""
