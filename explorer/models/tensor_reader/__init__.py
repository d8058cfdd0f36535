"""The numbers in model files: one tensor by name, or all in pieces, without loading the rest and without running code."""
