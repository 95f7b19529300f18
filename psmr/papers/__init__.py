"""The papers behind the schemes, reproduced: tables, figures, and every misprint with its evidence."""
