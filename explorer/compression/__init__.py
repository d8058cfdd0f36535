"""Makes models smaller: eight-bit weights and activations, and pruning, each checked against its source."""
