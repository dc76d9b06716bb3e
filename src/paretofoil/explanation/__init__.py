"""Explanations: from a decision and foils to verified answers, flip maps, influence and proofs over many states."""
