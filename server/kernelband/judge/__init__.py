"""Judges variants: correctness, speed, and whether a figure can be believed."""
