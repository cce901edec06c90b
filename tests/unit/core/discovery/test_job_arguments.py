"""Which word of a job's arguments is an option, which is its value, and which is a place."""

import pytest

from orphangc.core.discovery.discovered_facts import DirectoryFact, DirectoryUse, Origin
from orphangc.core.discovery.texts.flink_options import FoundOptions, Reading
from orphangc.core.discovery.texts.job_arguments import (
    FoundArguments,
    argument_facts,
    configuration_facts,
)

ORIGIN = Origin(kind="File", namespace="", name="x")
HERE = Reading(is_local_here=True)
ARGUMENTS, PARAMETERS = "$internal.application.program-args", "pipeline.global-job-parameters"


def searched(facts) -> list[str]:
    found = list(facts)
    assert all(
        isinstance(each, DirectoryFact) and each.use is DirectoryUse.ARGUMENTS for each in found
    )
    return [each.uri for each in found]


@pytest.mark.parametrize(
    ("words", "places"),
    [
        (["--checkpoint-dir", "/mnt/x"], ["/mnt/x"]),
        (["/mnt/checkpoints"], ["/mnt/checkpoints"]),
        (["/mnt/x"], []),
        (["--mode", "checkpoint-dir", "/mnt/x"], []),
        (["--checkpoint-dir=/mnt/x", "/mnt/y"], ["/mnt/x"]),
        (["--checkpoint-dir", "--verbose", "/mnt/x"], []),
    ],
)
def test_a_value_belongs_to_the_option_before_it_and_to_no_earlier_one(words, places) -> None:
    """A word without a dash, or with a value inside, is no option of the next word."""
    assert searched(argument_facts(FoundArguments(words, ORIGIN), HERE)) == places


@pytest.mark.parametrize(
    ("name", "value", "places"),
    [
        (ARGUMENTS, "--checkpoint-dir;/mnt/x", ["/mnt/x"]),
        (ARGUMENTS, ["--checkpoint-dir", "/mnt/x"], ["/mnt/x"]),
        (f"{PARAMETERS}.checkpoint-dir", "/mnt/x", ["/mnt/x"]),
        (f"{PARAMETERS}.out", "/mnt/x", []),
        ("orders.checkpoints", "s3://kept/x", ["s3://kept/x"]),
        ("orders.out", "s3://kept/x", []),
        ("pipeline.jars", "s3://code/checkpoint-job.jar", []),
    ],
)
def test_an_option_of_a_configuration_is_read_as_what_flink_keeps_in_it(
    name, value, places
) -> None:
    """Arguments as a text or a list, parameters by their names, any other one if it speaks of
    checkpoints and names no code.
    """
    found = FoundOptions({name: value}, ORIGIN)
    assert searched(configuration_facts(found, HERE)) == places
