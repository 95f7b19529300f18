"""The papers' test systems, one file a system, declared as components."""
