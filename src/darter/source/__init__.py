"""The source of functions: found, proven to be the code that runs, and told by its digest."""
