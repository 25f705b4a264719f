"""Answers to questions about one decision: why it is so, why it is not, why data moves."""
