"""The version of darter, read by the build and by ``darter.__version__``."""

__version__ = "0.1.0"
