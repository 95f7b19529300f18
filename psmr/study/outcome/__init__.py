"""What a run came to: synchronism, voltages, frequency, limits, and red, amber or green."""
