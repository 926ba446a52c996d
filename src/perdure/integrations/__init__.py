"""Callbacks and plug-ins for other libraries, with which a training script logs to Perdure."""
