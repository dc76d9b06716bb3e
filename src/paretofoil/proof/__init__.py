"""Proofs: sound bounds of a policy over boxes of commands, branch and bound, proven ranges, independent checks."""
