"""`VariableStep` against SUNDIALS' IDA, driven from C with the same kernels and the same factorisation."""
