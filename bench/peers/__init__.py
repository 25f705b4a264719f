"""The same GPT training step for Kina and for the tools that people use, and what each makes of it."""
