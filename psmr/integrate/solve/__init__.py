"""One implicit stage solved: blocks of equations, Newton, sparse LU, algebraic equations after an event."""
