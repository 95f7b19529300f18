"""The linear map of one step, as equations, matrix, pencil and function."""
