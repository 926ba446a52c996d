"""How sure are we: estimates with intervals, verdicts, comparisons and plans over many lifetimes."""
