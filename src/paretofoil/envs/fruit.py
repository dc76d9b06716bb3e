"""What the fruits of Fruit-Tree have, in the order of its rewards."""

NUTRIENTS = ("protein", "carbs", "fats", "vitamins", "minerals", "water")
