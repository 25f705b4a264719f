"""What a check found, as tables for people, JSON for programs, and lock files for reviews."""
