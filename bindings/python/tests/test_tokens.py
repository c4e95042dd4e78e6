"""Exact counts, in the wheel that has them."""

import pytest

import omniroute as om


@pytest.mark.skipif(not om.EXACT_TOKENS, reason="this wheel has no vocabularies")
def test_exact() -> None:
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "hello world"}]}
    receipt = om.Compressor({"count": "exact"}).compress(body).receipt
    assert receipt["counter"] == {"name": "o200k", "exact": True} and receipt.tokens_before == 2


@pytest.mark.skipif(om.EXACT_TOKENS, reason="this wheel has vocabularies")
def test_without_vocabularies_it_is_said() -> None:
    with pytest.raises(om.ConfigError, match="tokens-exact"):
        om.Compressor({"count": "exact"})
