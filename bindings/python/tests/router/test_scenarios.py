"""The scenarios that the tests of all languages share: the same file, the same receipt, byte by byte."""

import asyncio
import pathlib

import pytest
from omniroute.testing import Outcome, Scenario

FILES = sorted((pathlib.Path(__file__).resolve().parents[3] / "scenarios").glob("*.toml"))


def differing(scenario: Scenario, outcomes: list[Outcome]) -> list[int]:
    said = [(one.text, one.error, one.receipt) for one in outcomes]
    wanted = [(one.get("text"), one.get("error"), one["receipt"]) for one in scenario.expected]
    assert len(said) == len(wanted)
    return [number for number, (one, other) in enumerate(zip(said, wanted, strict=True)) if one != other]


def test_there_are_scenarios() -> None:
    assert len(FILES) >= 6


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_ends_as_it_says(path: pathlib.Path) -> None:
    scenario = Scenario(path)
    outcomes = asyncio.run(scenario.run())
    assert differing(scenario, outcomes) == [], outcomes
    # The check sees a receipt that differs by one character.
    first = outcomes[-1]
    outcomes[-1] = Outcome(first.text, first.error, first.receipt.replace("0", "1", 1) + " ")
    assert differing(scenario, outcomes) == [len(outcomes) - 1]
