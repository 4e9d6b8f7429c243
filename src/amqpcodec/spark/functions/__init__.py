"""Columns of bytes to columns of values, and back, a batch at a time: see README.md."""
