"""What holds in a run from one instant to the next: changes, spans, devices in service, the past."""
