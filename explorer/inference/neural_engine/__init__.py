"""Published rules on what suits the Neural Engine, checked on any ML Program: hints, never a measurement."""
