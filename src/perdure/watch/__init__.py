"""The same while it happens: logs followed as they grow, in the terminal and on a page."""
