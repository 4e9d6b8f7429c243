"""Generated code; see spec/generate.py."""
