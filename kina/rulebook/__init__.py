"""Rules looked at as rules: what they say of each op, how they hang together, what is wrong, what changed."""
