"""Callbacks and plug-ins for other libraries: change one line, and a training script logs with Perdure."""
