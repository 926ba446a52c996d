"""Run lifetimes: one, or those of a protocol; logged, resumable, and the same for any number of workers."""
