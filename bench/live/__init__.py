"""Whole clients against a live broker, with and without their drop-ins."""
