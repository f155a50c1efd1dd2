"""memory:// is one store for each `connect`: a URL that names more than that is a mistake."""

from __future__ import annotations

import pytest

import batonpass as bp


@pytest.mark.parametrize("url", ["memory://shared", "memory:///tmp/x.db", "memory://host:1/x?namespace=q", "memory:x"])
def test_a_name_is_refused_because_nobody_else_would_find_it(url: str) -> None:
    with pytest.raises(bp.BadSetup, match=r"has no name, and nobody else finds it: write memory://, and share its co"):
        bp.connect(url)


@pytest.mark.parametrize("url", ["memory://", "memory://?namespace=desk", "memory://?events=10"])
def test_its_options_are_not_names(url: str) -> None:
    with bp.connect(url) as coordinator:
        assert coordinator.jobs() == []
