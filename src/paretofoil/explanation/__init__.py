"""Explanations: questions are asked, what a search claims is checked, and an answer is given."""
