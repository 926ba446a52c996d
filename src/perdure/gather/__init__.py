"""Find lifetimes, score them in several processes, and collect the scores."""
