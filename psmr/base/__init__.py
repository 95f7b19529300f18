"""What every room may use: errors, arguments, files written whole, optional packages, signals."""
