"""How steps follow each other: at a fixed size, or by the estimated error, limits and kinks."""
