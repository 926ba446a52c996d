"""Figures written as SVG: the same markup stands in a page, in a notebook and in a file."""
