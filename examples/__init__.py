"""Launchers as a user would write them."""
