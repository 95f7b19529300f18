"""What a DAE is: declaration, symbolic trace, compiled kernels, assembly, linearisation."""
