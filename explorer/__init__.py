"""Train, convert, shrink and measure models from a terminal, with every number checked."""

__version__ = "0.1.0"
