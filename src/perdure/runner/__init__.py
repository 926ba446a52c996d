"""Living: one life, or a protocol's many, logged, resumable, and the same for any number of workers."""
