"""Bottleneck and "why is it faster", from facts."""
