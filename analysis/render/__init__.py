"""Findings made into charts, HTML and terminal tables."""
