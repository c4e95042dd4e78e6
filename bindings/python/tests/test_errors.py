"""Each error code has exactly one class."""

import pickle

import pytest

import omniroute as om
from omniroute import _native, errors


def missing(table: list[tuple[str, str, str]]) -> list[str]:
    """Codes without a class of their own name."""
    found = []
    for code, name, _ in table:
        kind = getattr(errors, name, None)
        if not (isinstance(kind, type) and issubclass(kind, om.Error)):
            found.append(code)
    return found


def test_every_code_has_a_class() -> None:
    table = _native.codes()
    assert missing(table) == []
    assert len({code for code, _, _ in table}) == len(table)
    assert missing([*table, ("made_up", "NoSuchClass", "")]) == ["made_up"]
    for code, name, _ in table:
        error = errors.make(code, name, "text", [])
        assert type(error).__name__ == name and error.code == code and str(error) == "text"


def test_configuration_errors_come_all_at_once() -> None:
    with pytest.raises(om.ConfigError) as caught:
        om.Compressor({"plan": "saef", "strikt": True})
    error = caught.value
    assert error.code == "config"
    assert list(error.errors) == [
        'plan: "saef" is not a plan, an engine or a combo; did you mean "safe"?',
        'strikt: this key is not known; did you mean "strict"?',
    ]
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is om.ConfigError and list(again.errors) == list(error.errors) and str(again) == str(error)
    assert again.code == "config" and again.retry_at is None and again.request_id is None


@pytest.mark.parametrize(
    ("options", "code"),
    [({"wire": "soap"}, "unknown_wire"), ({"plan": "stakced"}, "unknown_plan")],
)
def test_names_of_a_call(options: dict[str, str], code: str) -> None:
    with pytest.raises(om.RequestError) as caught:
        om.Compressor().compress(b"{}", **options)  # type: ignore[arg-type]
    assert caught.value.code == code and "\n" not in str(caught.value)


def test_exact_counts_without_vocabularies() -> None:
    """The wheel that has them is checked where it is made."""
    assert not om.EXACT_TOKENS
    with pytest.raises(om.ConfigError, match="tokens-exact"):
        om.Compressor({"count": "exact"})


def test_strict() -> None:
    with pytest.raises(om.RequestError) as caught:
        om.Compressor({"strict": True}).compress(b"{ secret")
    assert caught.value.code == "bad_body" and "secret" not in str(caught.value)
