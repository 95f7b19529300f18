"""This version beside a stored one: no study may have become slower when a release is made."""
