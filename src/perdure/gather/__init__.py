"""Lifetimes found, identified, given their experts, read, verified and scored: once, for every verb alike."""
