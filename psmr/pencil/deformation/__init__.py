"""How a scheme deforms modes: whole spectra, chosen modes of large systems, critical steps."""
