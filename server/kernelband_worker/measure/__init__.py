"""Timing on the device: what is measured, in which order, and with which method (JUDGING, section 3)."""
