"""How a metric is declared, measured, combined and scored."""
