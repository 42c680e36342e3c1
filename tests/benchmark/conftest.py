"""Ray's workers are as important as tests."""

import pytest


@pytest.fixture(autouse=True)
def no_niceness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or other tests beside Ray's workers would starve them."""
    monkeypatch.setenv("RAY_worker_niceness", "0")
