"""How many files of a folder psmr reads, solves, starts and runs: python -m tests.programs.public FOLDER."""
