"""Kina: sharding decisions that a person can read, question, review and trust."""

__version__ = "0.1.0"
