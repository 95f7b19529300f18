"""A course of eight exercises: questions whose answers are computed, with numbers of each student's own."""
