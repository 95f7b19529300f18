"""From a case to a system at rest, and the report on a start."""
