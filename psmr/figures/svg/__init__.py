"""Figures drawn as SVG for pages."""
