"""Models of devices, one family a folder."""
