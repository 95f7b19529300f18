"""From declarations to machine code: expressions, kernels, tables of kernels, where compiled code is kept."""
