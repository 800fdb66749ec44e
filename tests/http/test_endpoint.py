"""Tests of the checks of declarations at import time."""

from typing import Any

import pytest

from app.access.guards import verified
from app.access.scope import ProjectScope, Scope
from app.http.endpoint import endpoint
from app.http.validation import PageQuery


class TestSignature:
    def test_view_with_the_declared_arguments_is_accepted(self) -> None:
        @endpoint(guard=verified(), query=PageQuery)
        def view(*, scope: Scope, query: PageQuery) -> None:
            """Do nothing."""

        assert view.__name__ == "view"

    def test_positional_argument_raises_type_error(self) -> None:
        with pytest.raises(TypeError, match="keyword-only"):

            @endpoint(guard=verified())
            def view(scope: Scope) -> None:
                """Do nothing."""

    def test_missing_or_additional_argument_raises_type_error(self) -> None:
        with pytest.raises(TypeError, match="scope, query"):

            @endpoint(guard=verified(), query=PageQuery)
            def view(*, scope: Scope, body: dict[str, Any]) -> None:
                """Do nothing."""

    def test_scope_that_the_guard_does_not_return_raises_type_error(self) -> None:
        with pytest.raises(TypeError, match="returns a Scope"):

            @endpoint(guard=verified())
            def view(*, scope: ProjectScope) -> None:
                """Do nothing."""

    def test_scope_of_an_upstream_function_that_the_guard_does_not_return_raises_type_error(self) -> None:
        def read(scope: ProjectScope) -> None:
            """Do nothing."""

        with pytest.raises(TypeError, match="read returns a Scope"):

            @endpoint(guard=verified(), upstream=read)
            def view(*, scope: Scope, prepared: None) -> None:
                """Do nothing."""

    def test_unknown_rate_raises_value_error(self) -> None:
        with pytest.raises(ValueError, match="no row"):
            endpoint(guard=verified(), rate="unknown")
