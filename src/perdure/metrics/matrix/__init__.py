"""The metrics of the accuracy matrix."""
