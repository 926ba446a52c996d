"""Older tools: the framework of 2019, learnkit, l2metrics, l2logger and tella, so that their scripts and logs work."""
