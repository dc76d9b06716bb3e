"""What searches share: budgets, rays, scans, descents, walks along the boundary."""
