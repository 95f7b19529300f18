"""Machine code kept on disk: safe folders, checked files, and what numba asks of a cache."""
