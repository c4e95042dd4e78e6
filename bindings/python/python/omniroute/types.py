"""Types for annotations; nothing else in the package imports this module at run time."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

__all__ = ["Body", "ComboConfig", "CompressionConfig", "MemoConfig", "StepConfig"]

#: A request body: JSON text in any form, a request as a dictionary, or just its messages.
Body = bytes | bytearray | memoryview | str | dict[str, Any] | list[Any] | tuple[Any, ...]


class MemoConfig(TypedDict, total=False):
    """What is remembered between calls."""

    entries: int
    bytes: int
    ttl_s: int


class StepConfig(TypedDict, total=False):
    """One step of a combo."""

    engine: str
    level: str
    config: Mapping[str, bool | int | str]


class ComboConfig(TypedDict):
    """A plan of one's own."""

    name: str
    steps: list[str | StepConfig]


class CompressionConfig(TypedDict, total=False):
    """What may stand in the section ``[compression]``."""

    enabled: bool
    plan: str
    mode: str
    strict: bool
    max_body_bytes: int
    count: Literal["estimate", "exact"]
    memo: MemoConfig
    engines: Mapping[str, Mapping[str, bool | int | str]]
    combos: list[ComboConfig]
