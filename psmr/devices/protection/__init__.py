"""Protection: relays that shed load, that trip generators, and that open lines."""
