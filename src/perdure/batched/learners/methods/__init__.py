"""Methods of continual learning as changes to a tree of weights, each in a file of its own; they compose."""
