"""Figures of a page, drawn as SVG without matplotlib, whose loading and drawing take longer than the run.

`Axes` has those methods of matplotlib's axes that the figures of pages need, by the same names and with the
same meaning of their arguments, so that what draws a panel draws it for a page, a notebook and a file alike.
"""
