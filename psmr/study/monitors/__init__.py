"""What ends a run early."""
