"""Results as files: tables of signals, and where they may be written."""
