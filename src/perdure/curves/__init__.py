"""Lifetimes made comparable: smoothed, clamped, scaled, with their experts beside them."""
