"""Show lifetimes while they run, on a page and in the terminal."""
