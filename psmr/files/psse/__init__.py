"""PSS/E RAW and DYR files."""
