"""The report as a page, Markdown and LaTeX."""
