"""A reference evaluator of Core ML ML Programs on torch: checks conversions on any system."""
