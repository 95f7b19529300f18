"""The report on mode deformation: record, figures, page, terminal."""
