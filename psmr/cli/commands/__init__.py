"""One file a command: what it takes on the command line, and what it does."""
