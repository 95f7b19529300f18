"""Systems: devices assembled to a DAE with names, and the DAE linearised."""
