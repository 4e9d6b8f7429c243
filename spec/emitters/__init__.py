"""Emitters: each turns the model of a protocol into one kind of generated text."""
