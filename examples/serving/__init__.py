"""Launchers of a serving engine: softmax, RMS norm, query and key preparation, and compressed attention's cache."""
