"""Direct current: DC buses and lines, line-commutated and voltage-source converters, and their controls."""
