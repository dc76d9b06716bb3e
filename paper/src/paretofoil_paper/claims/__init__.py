"""Tests of the claims in the paper's text: sparsity, gradients, horizon, training."""
