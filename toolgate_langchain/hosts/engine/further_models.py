"""Models that a run calls and that no zone was declared for, such as a fallback or what a router chose.

Which models there are shows only when they are called. One zone speaks for one model, so a further one that is not
declared would count as external-anywhere. What it would be given has been read under the declared zone by then, so
it is not called at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolgate_langchain.hosts.engine.base_runs import Runs

__all__ = ["FurtherModels"]

_NAMES: Final = ("model_name", "model", "model_id", "deployment_name", "azure_deployment")
_PLACES: Final = ("base_url", "openai_api_base", "azure_endpoint", "endpoint_url", "endpoint", "anthropic_api_url")


class FurtherModels:
    """Counts the models of one agent's runs.

    Args:
        runs: The agent's runs, which know what zones were declared.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._met: dict[Any, Any] = {}

    def check(self, model: Any, where: Any) -> None:
        """Refuse a call of a model for which no zone was declared, where another one is in a better zone.

        Args:
            model: The model that is called next; what it falls back to counts as well.
            where: Where the run is driven from.

        Raises:
            ConfigurationError: Saying how many there are, and what to declare.
        """
        declared = self._runs.zones_declared(where)
        if not declared:
            return
        # The model is kept, so that no other can come to have its id.
        met = self._met | {_identity(one): one for one in _models_in(model)}
        if len(met) > declared:
            raise ConfigurationError(
                f"zone is declared for {declared} model{'s' * (declared > 1)}, and this agent calls {len(met)} "
                f"({', '.join(map(_named, met.values()))}). A further model that is not declared counts as "
                "external-anywhere, and must not see what was read for a better zone. Declare the zone of each, "
                "fallbacks and those that a router may choose included: zone=[TrustZone.LOCAL, None], where None is a "
                "model of which nothing is known"
            )
        self._met = met


def _models_in(model: Any) -> Iterator[Any]:
    """A model below its bindings, and those that it falls back to."""
    while getattr(model, "bound", None) is not None:
        model = model.bound
    fallbacks = getattr(model, "fallbacks", None)
    if isinstance(fallbacks, list | tuple) and hasattr(model, "runnable"):
        for one in (model.runnable, *fallbacks):
            yield from _models_in(one)
    else:
        yield model


def _identity(model: Any) -> Any:
    """What is the same for two objects that call one model in one place; else the object's own id."""
    name = _named(model)
    if name == type(model).__name__:
        return id(model)
    return type(model), name, tuple(str(getattr(model, place, "")) for place in _PLACES)


def _named(model: Any) -> str:
    names = (getattr(model, name, None) for name in _NAMES)
    return next((name for name in names if isinstance(name, str) and name), type(model).__name__)
