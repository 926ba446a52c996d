"""Who learns: what a learner is, those that come with Perdure, and how to find one's own."""
