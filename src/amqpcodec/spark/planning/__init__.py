"""What a job reads, in what parts, and how a task reads its part: see README.md."""
