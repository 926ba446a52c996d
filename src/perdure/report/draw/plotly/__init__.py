"""Figures as plotly reads them, for pages."""
