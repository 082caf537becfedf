"""Nothing here may reach a network."""

from tests.recorded.conftest import no_network

__all__ = ["no_network"]
