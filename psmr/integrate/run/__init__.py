"""The loop over time: spans between discontinuities, what is recorded and counted."""
