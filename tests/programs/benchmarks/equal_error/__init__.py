"""What schemes cost at equal error: cases, schemes, SUNDIALS' IDA, measurement, and the docs page of it."""
