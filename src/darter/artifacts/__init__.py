"""Artifacts: what a compile leaves behind, and the stores that keep it."""
