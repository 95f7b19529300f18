"""A study: case, events and scheme in; a run with its certificate, figures and reports out."""
