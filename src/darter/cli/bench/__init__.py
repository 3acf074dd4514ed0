"""``darter bench``: a file per command (``commands`` lists them), beside it what it measures and how.

``launchers`` and the ``…_cases`` are what is measured, ``timing`` and ``paired`` how; ``cpu_…`` and ``cuda_…`` are one
backend's rows of a command.
"""
