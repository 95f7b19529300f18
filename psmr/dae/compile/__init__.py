"""From declarations to machine code: symbols, kernels, tables of kernels, and where compiled code is kept."""
