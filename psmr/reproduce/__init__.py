"""The papers behind the schemes, reproduced: their tables and figures beside ours, and every misprint with evidence."""
