"""Whoever names a place where a checkpoint may be, and however: it is searched, or known not to."""

import shlex
from dataclasses import replace
from itertools import product

import pytest

from flinkstate.places.locations import UNREADABLE, canonical
from orphangc.collect.observe.reported import Answers
from orphangc.core.cluster.ha_facts import FolderNamed, HaFacts, PlaceNamed
from orphangc.core.cluster.job_facts import ClusterFacts, RestoredFacts
from orphangc.core.cluster.place_options import FOLDER_OPTIONS, FORST_OPTIONS, RESTORE_OPTIONS
from orphangc.core.model.settings import StorageRootSettings
from support.builders import a_cluster, some_facts

SETTINGS = StorageRootSettings(root="s3://lake/checkpoints")
TEXTS = ("ck", "./ck", "file://${HOME}/ck", "C:\\ck", "/ck", "[a, b]", "s3:ck", "file:///x\0y")
OPTIONS = (*FOLDER_OPTIONS, *RESTORE_OPTIONS)


def configured(options: dict[str, str], origin: str | None = None) -> ClusterFacts:
    restored = RestoredFacts(id=3, external_path=origin, is_savepoint=True)
    jobs = () if origin is None else (some_facts(restored=restored),)
    return a_cluster(*jobs, uri="http://a", options=options)


def ha(text: str, by: str) -> HaFacts:
    return HaFacts(
        uri="kubernetes:flink",
        folders=(FolderNamed(text, "state.checkpoints.dir", "a"),) if by == "a folder" else (),
        places=(PlaceNamed(text, "a"),) if by == "a checkpoint" else (),
    )


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("by", [*OPTIONS, "a folder", "a checkpoint", "an origin"])
def test_a_text_in_which_no_place_can_be_read_is_never_dropped(by: str, text: str) -> None:
    """It is a place that no search reaches, or a checkpoint that cannot be read."""
    options = {by: text} if by in OPTIONS else {}
    clusters = (configured(options, origin=text if by == "an origin" else None),)
    answers = Answers(settings=SETTINGS, clusters=clusters, ha=(ha(text, by),))
    places = [place for place, _ in answers.places()]
    _, broken = answers.reported()
    is_local = by == "an origin" and text == "/ck"  # which Flink itself resolved
    assert is_local or broken or [each.scheme for each in places] == [UNREADABLE]


@pytest.mark.parametrize(
    ("option", "text"),
    [*product(OPTIONS, ("", "  ")), *product(FORST_OPTIONS, ("checkpoint-dir", " Local"))],
)
def test_an_option_that_is_not_set_names_none(option: str, text: str) -> None:
    """Nor does it cast a doubt."""
    answers = Answers(settings=SETTINGS, clusters=(configured({option: text}),))
    assert [*answers.places()] == []
    assert answers.reported() == ([], [])


@pytest.mark.parametrize("option", OPTIONS)
def test_a_path_without_a_scheme_is_one_of_the_default_file_system(option: str) -> None:
    """Which the same configuration chooses (``FileSystem.getUnguardedFileSystem``)."""
    cluster = configured({option: "/ck/x/y", "fs.default-scheme": "hdfs://nn:8020/"})
    ((place, _),) = Answers(settings=SETTINGS, clusters=(cluster,)).places()
    assert canonical("hdfs://nn:8020/ck").contains(place)


@pytest.mark.parametrize("ending", ["", "/", "/_metadata"])
@pytest.mark.parametrize("jobs", [(), (some_facts(),)], ids=["no job yet", "a job"])
@pytest.mark.parametrize("option", RESTORE_OPTIONS)
def test_what_a_configuration_restores_from_is_named_before_there_is_a_job(
    option, jobs, ending
) -> None:
    """R43: a JobManager that begins reads it; people may name the metadata file, too."""
    folder = "s3://lake/savepoints/savepoint-1"
    cluster = a_cluster(*jobs, options={option: f"{folder}{ending}"})
    assert folder in {uri for _, uri in Answers(settings=SETTINGS, clusters=(cluster,)).namings}


@pytest.mark.parametrize("text", ["sp-1", "/savepoints/sp-1"])
def test_the_statement_that_the_message_names_lifts_it(text) -> None:
    """A spec names for ever what its job was started from."""
    answers = Answers(settings=SETTINGS, ha=(ha(text, "a checkpoint"),))
    _, (broken,) = answers.reported()
    words = shlex.split(broken.reason)
    place = words[words.index("--empty-root") + 1]
    stated = SETTINGS.model_copy(update={"empty_roots": (place,)})
    assert replace(answers, settings=stated).reported() == ([], [])
