"""Tools that many people use, each with a profile that was made by looking at its code."""

from toolgate_langchain.catalog.wellknown.families import WELL_KNOWN_TOOLS, well_known_profiles
from toolgate_langchain.catalog.wellknown.recognise import recognise, well_known_profile
from toolgate_langchain.catalog.wellknown.record import WellKnownTool

__all__ = [
    "WELL_KNOWN_TOOLS",
    "WellKnownTool",
    "recognise",
    "well_known_profile",
    "well_known_profiles",
]
