"""Exceptions, one class for each kind of error. Catch :class:`Error` for all of them.

Every error has ``code`` (stable, for programs), ``retry_at`` (an aware datetime or None), ``request_id``, ``receipt`` and
``details``. ``str(error)`` is one line and holds no text of a request.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

__all__ = [
    "AuthenticationError",
    "Cancelled",
    "ConfigError",
    "ContextTooLong",
    "Error",
    "Filtered",
    "Internal",
    "NoCandidate",
    "QuotaExhausted",
    "RateLimited",
    "RequestError",
    "Timeout",
    "Unavailable",
]


class Error(Exception):
    """Base of all errors of this package."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "internal",
        retry_at: "datetime | None" = None,
        request_id: "str | None" = None,
        receipt: "Mapping[str, object] | None" = None,
        details: "Mapping[str, object] | None" = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retry_at = retry_at
        self.request_id = request_id
        self.receipt = receipt
        self.details: "Mapping[str, object]" = details or {}

    def __reduce__(self) -> "tuple[object, ...]":
        return (_again, (type(self), str(self), dict(self.__dict__)))


class ConfigError(Error):
    """The configuration is wrong. ``errors`` lists every mistake with its place."""

    @property
    def errors(self) -> "Sequence[str]":
        """Every mistake, one line each."""
        found = self.details.get("errors", ())
        return tuple(str(mistake) for mistake in found) if isinstance(found, (list, tuple)) else ()


class RequestError(Error):
    """The request or an argument of the call is wrong."""


class AuthenticationError(Error):
    """The credential was not accepted or may not do this."""


class RateLimited(Error):
    """Too many calls; later is fine."""


class QuotaExhausted(Error):
    """An allowance or the money is used up."""


class Unavailable(Error):
    """No provider could answer."""


class Timeout(Error):
    """No answer in time."""


class NoCandidate(Error):
    """Nothing that is configured can serve the request."""


class ContextTooLong(Error):
    """The request is longer than the model's context."""


class Filtered(Error):
    """Refused by a content filter."""


class Cancelled(Error):
    """Given up at our own deadline. A cancelled task raises asyncio's own exception."""


class Internal(Error):
    """A bug in this package; please report it."""


def make(code: str, name: str, message: str, mistakes: "list[str]", facts: "str | None" = None) -> Error:
    """The exception for an error of the native module."""
    kind = globals().get(name, Internal)
    details: "dict[str, object]" = {"errors": tuple(mistakes)} if mistakes else {}
    if facts is None:
        error: Error = kind(message, code=code, details=details)
        return error
    import json

    from .reply import RouteReceipt

    known = json.loads(facts)
    for name in ("status", "vendor_code", "hint"):
        if known[name] is not None:
            details[name] = known[name]
    receipt = None if known["receipt"] is None else RouteReceipt(known["receipt"])
    retry_at = _moment(known["retry_at_ms"])
    request_id = known["request_id"]
    error = kind(message, code=code, details=details, retry_at=retry_at, request_id=request_id, receipt=receipt)
    return error


def _moment(milliseconds: "int | None") -> "datetime | None":
    if milliseconds is None:
        return None
    from datetime import datetime, timedelta, timezone

    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=milliseconds)


def _again(kind: "type[Error]", message: str, fields: "dict[str, object]") -> Error:
    error = kind(message)
    error.__dict__.update(fields)
    return error
