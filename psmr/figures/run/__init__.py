"""Pages, figures and files."""
