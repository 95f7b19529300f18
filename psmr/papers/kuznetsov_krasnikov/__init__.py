"""Kuznetsov and Krasnikov: the arc length of the solution as the independent variable."""
