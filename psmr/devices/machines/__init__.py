"""Synchronous machines, from the classical model to the standard library's."""
