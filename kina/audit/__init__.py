"""Holds the rules of an op against what the op computes: placements that are wrong, and those that lack."""
