"""Figures drawn by Matplotlib."""
