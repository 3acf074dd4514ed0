"""The command line: a file per command; ``bench`` measures, ``report`` draws what was measured."""
