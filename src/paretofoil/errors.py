"""The one error that bad input raises."""


class InvalidInput(ValueError):
    """Input that cannot be used; the message says what was expected and what was given."""

    @classmethod
    def expected(cls, what: str, got: object) -> "InvalidInput":
        return cls(f"expected {what}, got {got}")
