"""Logs in the layout of learnkit (2019): read and written."""
