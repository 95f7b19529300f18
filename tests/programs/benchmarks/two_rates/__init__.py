"""Two rates by a tolerance: studies, measurement, baselines, page."""
