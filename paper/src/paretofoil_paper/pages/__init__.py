"""The six pages of the results and their index: findings first, then tables, then how they were measured."""
