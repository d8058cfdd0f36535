"""Histories of trainings: reading what any trainer logs, thinning it for charts, writing it for others."""
