"""The words: commands, policies, decisions, questions, answers, and what a search is. It imports nothing above it."""
