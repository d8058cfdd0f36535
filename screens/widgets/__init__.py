"""Widgets that more than one screen uses, each frugal with bytes on the line."""
