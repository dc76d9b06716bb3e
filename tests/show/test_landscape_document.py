"""Landscapes as JSON: they survive unchanged, and what does not fit is refused."""

import json
from typing import Any

import numpy as np
import pytest
from answers import TIME, TREASURE

from paretofoil.core.errors import InvalidInput
from paretofoil.show.landscape import Landscape


def landscape() -> Landscape:
    return Landscape(
        (TREASURE, TIME),
        np.array([8.0, -2.0]),
        np.array([6.3, -2.0]),
        np.array([123.0, 39.0]),
        0.05,
        0,
        1,
        np.array([1.0, 2.0]),
        np.array([-3.0, -2.0, -1.0]),
        np.zeros((3, 2)),
    )


def test_json_survives_unchanged() -> None:
    assert Landscape.from_json(landscape().to_json()).to_json() == landscape().to_json()


def test_an_earlier_document_is_read() -> None:
    earlier = json.loads(landscape().to_json()) | {"schema": "paretofoil/landscape/2", "slope": [0.1, 0.2]}
    assert Landscape.from_json(json.dumps(earlier)).to_json() == landscape().to_json()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *[({name: "x"}, name) for name in ("command", "through", "scale", "x", "y", "margins", "kappa", "p")],
        *[({name: None}, name) for name in ("command", "through", "scale", "x", "y", "margins")],
        ({"schema": "paretofoil/something-else/1"}, "a?.*landscape of schema"),
        ({"p": 2}, "two objectives from 0 to 1"),
        ({"q": 0}, "two objectives from 0 to 1"),
        ({"x": [1.0, 2.0, 3.0]}, r"margins of shape \(3, 3\)"),
        ({"scale": [1.0]}, "commands and scales of 2 numbers"),
        ({"scale": [123.0, 0.0]}, "expected scales above 0"),
    ],
)
def test_what_is_wrong_or_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Landscape.from_json(json.dumps(json.loads(landscape().to_json()) | changes))
