"""Measurements: times and instruction counts live here, never in tests."""
