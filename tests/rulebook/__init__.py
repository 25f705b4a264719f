"""Tests of the rule base itself."""
