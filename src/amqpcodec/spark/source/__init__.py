"""Captures as tables, and ``register``: see README.md."""
