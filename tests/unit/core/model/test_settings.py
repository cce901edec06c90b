"""What an operator may say: every default pinned, every doubt refused before anything is read."""

import json
from datetime import timedelta

import pytest
from pydantic import ValidationError

from flinkstate.places.locations import canonical, parse_alias
from orphangc.core.model.bounds import SafetyMargins
from orphangc.core.model.settings import SAFE_MINIMUMS, StorageRootSettings, parse_duration
from orphangc.core.model.types import AreaName
from support.builders import JOB, OTHER_JOB, span

ROOT = "s3://bucket/checkpoints"
SHA = "0123456789abcdef" * 4


def said(**options: object) -> StorageRootSettings:
    return StorageRootSettings.model_validate({"root": ROOT, **options})


def refused(**options: object) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        said(**options)
    return caught.value


def problem_of(**options: object) -> str:
    with pytest.raises(ValidationError) as caught:
        said(**options)
    (error,) = caught.value.errors()
    return error["msg"]


def test_the_defaults_are_those_of_the_contract() -> None:
    """Design, section 3: every option's default; a change here changes what may be deleted."""
    assert said().model_dump() == {
        "root": ROOT,
        "state": None,
        "grace_period": timedelta(hours=72),
        "quarantine_period": timedelta(hours=24),
        "checkpoint_id_margin": 1,
        "clock_skew": timedelta(minutes=15),
        "quiet_period": timedelta(days=7),
        "allow_short_margins": False,
        "allow_short_grace_period": False,
        "scope": tuple(AreaName),
        "registry": (),
        "registry_wait": timedelta(minutes=5),
        "job_archives": (),
        "extra_roots": (),
        "empty_roots": (),
        "siblings": (),
        "named_by_flink": (),
        "without_checkpoints": (),
        "sibling_statements": (),
        "unclear": (),
        "search": "storage",
        "search_except": (),
        "closed_world": False,
        "ended_job": (),
        "merged_within": (),
        "owner": None,
        "flink_rest": (),
        "accept_flink_version": (),
        "kubernetes_ha": (),
        "zookeeper_ha": (),
        "alias": (),
        "pin": (),
        "max_delete_share": 0.5,
        "max_deletes": None,
        "delete_rate": 3200,
        "inventory": None,
        "inventory_max_age": timedelta(hours=72),
        "noncurrent_versions": False,
        "abort_uploads": False,
        "unsafe_acknowledge_root": (),
    }
    assert said().margins == SafetyMargins()


def test_every_margin_reaches_the_bounds() -> None:
    """A setting that is read and not used would be a promise broken."""
    settings = said(
        grace_period="100h",
        quarantine_period="2d",
        checkpoint_id_margin=7,
        clock_skew="1m",
        quiet_period="30d",
    )
    assert settings.margins == SafetyMargins(
        grace_period=span("100h"),
        quarantine_period=span("2d"),
        checkpoint_id_margin=7,
        clock_skew=span("1m"),
        quiet_period=span("30d"),
    )


def test_only_the_root_must_be_said() -> None:
    """There is no default storage."""
    with pytest.raises(ValidationError, match="root"):
        StorageRootSettings.model_validate({})


@pytest.mark.parametrize("key", ["gracePeriod", "grace-period", "dry_run", "roots", "Root", ""])
def test_an_unknown_key_is_refused(key: str) -> None:
    """House style, settings: a misspelt margin must not silently be the default."""
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        said(**{key: "x"})


def test_settings_do_not_change_after_they_were_checked() -> None:
    """A plan is bound to what it was asked for."""
    with pytest.raises(ValidationError, match="frozen"):
        said().closed_world = True


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("72h", timedelta(hours=72)),
        ("1d12h", timedelta(days=1, hours=12)),
        ("1d2h3m4s", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("15m", timedelta(minutes=15)),
        ("30s", timedelta(seconds=30)),
        ("90m", timedelta(minutes=90)),
        ("7D", timedelta(days=7)),
        (" 7d ", timedelta(days=7)),
        ("007d", timedelta(days=7)),
        ("0", timedelta(0)),
        ("0s", timedelta(0)),
        ("10000d", timedelta(days=10_000)),
        ("9999d23h60m", timedelta(days=10_000)),
        ("9999d23h59m60s", timedelta(days=10_000)),
    ],
)
def test_a_duration_is_read_as_people_write_it(text: str, duration: timedelta) -> None:
    """Design, section 3: 72h, 15m, 7d."""
    assert parse_duration(text) == duration
    assert said(quiet_period=text, allow_short_margins=True).quiet_period == duration


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "72",
        "72 h",
        "h",
        "h72",
        "1.5h",
        "-1h",
        "+1h",
        "1h1d",
        "1h1h",
        "1w",
        "1y",
        "1ms",
        "PT72H",
        "72:00:00",
        "forever",
        "\u0667d",
        "\uff17d",
        "1d\n2h",
        "inf",
        "nan",
    ],
)
def test_what_is_not_clearly_a_duration_is_refused(text: str) -> None:
    """Losses 1.3 (Paimon#4779): a number without its unit could be anything."""
    with pytest.raises(ValidationError, match="duration"):
        said(quiet_period=text)


@pytest.mark.parametrize(
    "text",
    [
        *("10001d", "10000d1s", "10000d1m", "10000d1h", "240001h", "14400001m", "864000001s"),
        *("864000000d", f"{10**18}s", f"{10**30}d", f"{'9' * 4000}h"),
    ],
)
def test_a_duration_beyond_all_reason_is_refused(text: str) -> None:
    """Subtracted from now it would leave the calendar, in the middle of a run."""
    said_of_it = f"{text[:20]!r} is longer than 10,000 days"
    assert problem_of(quiet_period=text) == f"Value error, {said_of_it}"


@pytest.mark.parametrize("number", [7, 24, 259_200, 1.5, -1, True, float("nan")])
def test_a_bare_number_is_no_duration(number: float) -> None:
    """YAML's ``quarantine_period: 24`` means hours to a person; as seconds it would delete."""
    with pytest.raises(ValidationError, match="duration"):
        said(quarantine_period=number)


def test_a_duration_made_elsewhere_is_no_longer_than_one_that_was_written() -> None:
    """The same limit for those who use the settings as a library."""
    assert said(quiet_period=timedelta(days=10_000)).quiet_period == timedelta(days=10_000)
    problem = problem_of(quiet_period=timedelta(days=10_000, seconds=1))
    assert problem == "Value error, the duration is longer than 10,000 days"


def test_zero_needs_no_unit() -> None:
    """In YAML it is a number, in the environment a text."""
    for zero in (0, "0"):
        settings = said(quarantine_period=zero, allow_short_margins=True)
        assert settings.quarantine_period == timedelta(0)


@pytest.mark.parametrize(
    "name", ["grace_period", "quarantine_period", "clock_skew", "quiet_period"]
)
def test_a_negative_duration_is_refused(name: str) -> None:
    """It would move a bound into the future."""
    problem = problem_of(**{name: timedelta(seconds=-1), "allow_short_margins": True})
    assert problem == "Value error, a duration cannot be negative"


def test_a_part_of_a_second_is_refused() -> None:
    """A plan spells whole seconds; what it spells must be what was meant."""
    assert problem_of(quiet_period=timedelta(seconds=1, microseconds=1)) == (
        "Value error, a duration must be whole seconds: a plan spells no parts of them"
    )


DAY = timedelta(days=1)
SAFE = {
    "grace_period": (DAY, "grace_period below 24h is refused: what a checkpoint"),
    "quarantine_period": (DAY, "quarantine_period below 24h is refused: no second cycle"),
    "quiet_period": (DAY, "quiet_period below 24h is refused: a job that is suspended"),
    "clock_skew": (timedelta(minutes=1), "clock_skew below 1m is refused: store times"),
}


def test_the_safe_minimums_are_those_that_were_argued() -> None:
    """R9 and R17: min_age of 24 h; R13: a day of business; R10: beyond the clocks of one store."""
    assert {name: least for name, (least, _) in SAFE_MINIMUMS.items()} == {
        name: least for name, (least, _) in SAFE.items()
    }


@pytest.mark.parametrize("lifts", ["allow_short_margins", "allow_short_grace_period"])
@pytest.mark.parametrize("below", [timedelta(0), timedelta(seconds=1)])
@pytest.mark.parametrize("name", SAFE)
def test_a_margin_below_its_safe_minimum_is_refused_unless_insisted_upon(
    name: str, below: timedelta, lifts: str
) -> None:
    """R29: a configuration can only make the collector more careful, unless it says otherwise."""
    least, words = SAFE[name]
    for short in (below, least - timedelta(seconds=1)):
        problem = problem_of(**{name: short})
        assert problem.startswith(f"Value error, {words}")
        assert problem.endswith("; allow_short_margins (--allow-short-margins) accepts it")
        assert getattr(said(**{name: short, lifts: True}), name) == short
    assert getattr(said(**{name: least}), name) == least


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (0.25, 0.25),
        ("0.25", 0.25),
        (["0.25"], 0.25),
        ([f"{JOB}=0.9"], {JOB: 0.9}),
        (["0.25", f"{JOB}=0.9"], {"default": 0.25, JOB: 0.9}),
        ({JOB: 0.9}, {JOB: 0.9}),
        ({"default": 0.25, JOB: "0.9"}, {"default": 0.25, JOB: 0.9}),
    ],
)
def test_a_share_may_be_given_for_one_job(given: object, meant: object) -> None:
    """Issue 13, point 6: no statement about all jobs for the sake of one."""
    settings = said(max_delete_share=given)
    assert settings.max_delete_share == meant
    again = StorageRootSettings.model_validate_json(settings.model_dump_json())
    assert again == settings
    of_others = meant if isinstance(meant, float) else meant.get("default", 0.5)
    of_one = meant if isinstance(meant, float) else meant.get(JOB, of_others)
    assert (settings.delete_share_of(JOB), settings.delete_share_of(OTHER_JOB)) == (
        of_one,
        of_others,
    )


WRONG = {
    "max_delete_share": (
        *(True, None, "", "nan", "inf", "half", [], ["x=0.5"], ["=0.5"], [f"{JOB}="], {"all": 1}),
        *({JOB: 2}, {JOB: None}, {JOB: True}, {7: 0.5}, [f"{JOB}=0.5=0.6"], {}),
        *(-0.1, 1.1, float("nan"), float("inf")),
    ),
    "max_deletes": (-1, 1.5, True, False),
    "checkpoint_id_margin": (-1, True),
    "delete_rate": (0, True),
    **dict.fromkeys(
        ("closed_world", "abort_uploads", "allow_short_margins"), ("yes", "on", "1", 1, 1.0, "")
    ),
    "scope": (["other"], ["all"], ["SHARED"], [""], ["shared,"]),
    "alias": (["s3://a"], ["a=b"], ["="], [""]),
    "unsafe_acknowledge_root": (
        *(["s3://b/x"], [f"s3://b/x={SHA[:-1]}"], [f"x={SHA}"], [f"={SHA}"], [SHA]),
    ),
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, all_ in WRONG.items() for v in all_])
def test_what_an_option_cannot_mean_is_refused(name: str, value: object) -> None:
    """R3a, R5, R6, R9, R20: a statement, a limit, an alias or a hash that is misread is none."""
    assert name in str(refused(**{name: value}))


@pytest.mark.parametrize("value", [True, "true", "True"])
def test_a_statement_is_true_or_its_text_in_the_environment(value: object) -> None:
    assert said(closed_world=value).closed_world is True


def test_limits_may_forbid_everything() -> None:
    """Zero is a limit, not the absence of one."""
    settings = said(max_delete_share=0, max_deletes=0)
    assert (settings.max_delete_share, settings.max_deletes) == (0, 0)


@pytest.mark.parametrize(
    ("root", "state", "words"),
    [
        (ROOT, ROOT, "lies inside"),
        (ROOT, f"{ROOT}/", "lies inside"),
        (ROOT, f"{ROOT}/state", "lies inside the storage root"),
        (ROOT, "s3a://bucket/checkpoints/x/y", "lies inside the storage root"),
        (ROOT, "s3://bucket//checkpoints//state", "lies inside the storage root"),
        (ROOT, "s3://bucket/checkpoints/../checkpoints/state", "lies inside the storage root"),
        ("/data/ck", "file:///data//ck/state", "lies inside the storage root"),
        (ROOT, "s3://bucket", "the storage root lies inside the state location"),
        (ROOT, "s3://bucket/", "the storage root lies inside the state location"),
        (ROOT, "s3n://bucket/x/..", "the storage root lies inside the state location"),
    ],
)
def test_neither_state_nor_root_lies_inside_the_other(root: str, state: str, words: str) -> None:
    """Losses 1.4 (DuckLake#813): its own files among the orphans. 1.1: in every spelling."""
    with pytest.raises(ValidationError, match=f"{words}.*: choose another"):
        said(root=root, state=state)


@pytest.mark.parametrize(
    "state",
    ["s3://bucket/checkpoints2", "s3://bucket/check", "s3://other/checkpoints", "/checkpoints"],
)
def test_a_state_beside_the_root_is_fine(state: str) -> None:
    """Whole path parts: ``checkpoints2`` is not inside ``checkpoints``."""
    assert said(state=state).state == state


@pytest.mark.parametrize("name", ["root", "state"])
@pytest.mark.parametrize("value", ["", "relative/path", "s3:bucket", "file://data/ck"])
def test_a_place_must_be_absolute(name: str, value: str) -> None:
    """Losses 1.4 (Trino#29249): the location argument is the most dangerous input."""
    with pytest.raises(ValidationError, match=name):
        said(**{name: value})


@pytest.mark.parametrize("name", ["registry", "extra_roots", "pin"])
def test_every_place_of_a_list_must_be_absolute(name: str) -> None:
    """A pin that names nothing protects nothing."""
    assert getattr(said(**{name: ["s3://b/x", "/y"]}), name) == ("s3://b/x", "/y")
    with pytest.raises(ValidationError, match=name):
        said(**{name: ["s3://b/x", "y"]})
    with pytest.raises(ValidationError, match=name):
        said(**{name: "s3://b/x"})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["shared"], [AreaName.SHARED]),
        ("shared", [AreaName.SHARED]),
        (
            ["changelog", "shared,exclusive"],
            [AreaName.CHANGELOG, AreaName.SHARED, AreaName.EXCLUSIVE],
        ),
        (["merged", "merged , forst"], [AreaName.MERGED, AreaName.FORST]),
    ],
)
def test_exactly_the_areas_that_are_named_are_collected(given, expected: list[AreaName]) -> None:
    """Design, section 3: repeatable, and with commas between."""
    assert said(scope=given).scope == tuple(expected)


def test_aliases_become_places_in_their_order() -> None:
    """R5: the first that fits is applied."""
    texts = ["s3a://old/x=s3://new", "file:/mnt=s3://bucket/mnt"]
    assert said(alias=texts).aliases == tuple(map(parse_alias, texts))


def test_a_job_is_declared_ended_by_its_id_or_with_all_others() -> None:
    """R13: the operator's statement."""
    assert said(ended_job=[JOB]).is_declared_ended(JOB)
    assert not said(ended_job=[JOB]).is_declared_ended(OTHER_JOB)
    assert said(ended_job=["all"]).is_declared_ended(OTHER_JOB)
    assert not said().is_declared_ended(JOB)


def test_all_jobs_are_those_that_flink_wrote() -> None:
    """Issue 13, L5: another product's directory may be named like a job's."""
    assert not said(ended_job=["all"]).is_declared_ended(JOB, by_id=True)
    assert said(ended_job=["all", JOB]).is_declared_ended(JOB, by_id=True)


@pytest.mark.parametrize("name", ["ended_job", "owner"])
@pytest.mark.parametrize("job", ["", "ALL", "*", JOB.upper(), JOB[:-1], f"{JOB}\n", f" {JOB}"])
def test_a_job_id_is_exactly_one(name: str, job: str) -> None:
    """R3, R13: a statement about a misspelt job is a statement about none."""
    with pytest.raises(ValidationError, match=name):
        said(**{name: [job] if name == "ended_job" else job})


def test_an_owner_is_one_job_and_never_all() -> None:
    """R3: the single owner."""
    assert said(owner=JOB).owner == JOB
    with pytest.raises(ValidationError, match="owner"):
        said(owner="all")


def test_a_broken_root_is_acknowledged_by_place_and_hash() -> None:
    """R6: path + hash."""
    settings = said(unsafe_acknowledge_root=[f"s3a://b//x=1/chk-9/_metadata={SHA}"])
    assert settings.acknowledged == {str(canonical("s3://b/x=1/chk-9/_metadata")): SHA}


SECRET = "http://user:hunter2@flink:8081/base"


def test_credentials_are_used_and_never_written_down() -> None:
    """A plan is shown to people and kept in folders."""
    settings = said(flink_rest=[SECRET])
    assert settings.flink_rest == (SECRET,)
    assert "hunter2" not in settings.model_dump_json()
    assert "hunter2" not in json.dumps(settings.model_dump(mode="json"))
    assert settings.model_dump(mode="json")["flink_rest"] == ["http://flink:8081/base"]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://user:hunter2@flink:8081",
        "user:hunter2@flink:8081",
        "http://user:hunter2@",
        "http://[user:hunter2@flink",
    ],
)
def test_a_refused_endpoint_does_not_tell_its_password(url: str) -> None:
    """The message goes to stderr, and from there into logs."""
    with pytest.raises(ValidationError, match="flink_rest") as caught:
        said(flink_rest=[url])
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://flink:8081", "https://flink/proxy/", "http://[::1]:8081"])
def test_an_endpoint_is_kept_as_it_is(url: str) -> None:
    """Without credentials there is nothing to hide."""
    assert said(flink_rest=[url]).model_dump(mode="json")["flink_rest"] == [url]


def test_settings_survive_the_plan_that_they_are_written_into() -> None:
    """A sweep works by the plan's settings: they must be the ones that were planned with."""
    settings = said(
        state="s3://bucket/state",
        grace_period="1d12h",
        quarantine_period="0",
        allow_short_margins=True,
        scope=["taskowned"],
        extra_roots=["s3://bucket/savepoints"],
        closed_world=True,
        ended_job=[JOB],
        owner=OTHER_JOB,
        alias=["s3://a=s3://b"],
        pin=["s3://bucket/checkpoints/x"],
        max_delete_share=0.25,
        max_deletes=10,
        unsafe_acknowledge_root=[f"s3://b/x={SHA}"],
    )
    assert StorageRootSettings.model_validate_json(settings.model_dump_json()) == settings


def test_an_inventory_in_s3_may_stand_for_a_root_in_s3() -> None:
    """In another bucket, under whichever of S3's schemes."""
    settings = said(inventory="s3a://reports/inventory/daily", inventory_max_age="10d")
    assert settings.inventory_max_age == span("10d")
    assert StorageRootSettings.model_validate_json(settings.model_dump_json()) == settings


@pytest.mark.parametrize(
    "places",
    [
        {"root": "/checkpoints", "inventory": "s3://reports/daily"},
        {"root": ROOT, "inventory": "/reports/daily"},
        {"root": "gs://bucket/checkpoints", "inventory": "gs://reports/daily"},
    ],
)
def test_an_inventory_of_another_kind_of_store_is_refused(places: dict[str, str]) -> None:
    """Its rows would be of keys that mean something else there."""
    with pytest.raises(ValidationError, match="inventory"):
        StorageRootSettings.model_validate(places)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "accept_flink_version",
            ["1.18.1-amzn-0", "1.17-vvr-8.0.1", "1.18.0-csa1.12.0.0", "2.3-SNAPSHOT", "1.20"],
            ["", "*", "1", "1.18*", "1.13.6-x", "2.9.0", "3.0-amzn-0", "1.18.1 x", "x1.18.1"],
        ),
        (
            "kubernetes_ha",
            ["flink", "team-a", "a", "0a"],
            ["", "-a", "a-", "Team", "a/b", "a b", "a" * 64, "a.b", "flink\n"],
        ),
        (
            "zookeeper_ha",
            ["zk:2181", "a:1,b:2/flink", "10.0.0.1:2181/flink/team", "[::1]:2181/flink"],
            ["", "zk", "zk:2181,", "u:p@zk:2181", "zk:2181/a?b", "/flink", "http://zk:2181"],
        ),
    ],
)
def test_who_tells_what_is_alive_is_named_exactly(name: str, good: list, bad: list) -> None:
    """A mistyped one would show no job alive."""
    assert getattr(said(**{name: good}), name) == tuple(good)
    for each in bad:
        with pytest.raises(ValidationError, match=name):
            said(**{name: [each]})


@pytest.mark.parametrize("name", ["root", "state", "pin", "registry", "extra_roots"])
@pytest.mark.parametrize(
    "place", ["sftp://gc:hunter2@host/dir", "s3://AK:hunter2@bucket/x", "s3://a@b:hunter2@bucket/x"]
)
def test_a_place_with_a_password_is_refused(name: str, place: str) -> None:
    """Plans, logs, metrics and pages show places."""
    several = name in {"pin", "registry", "extra_roots"}
    values = {"root": "s3://bucket/checkpoints", name: (place,) if several else place}
    with pytest.raises(ValidationError) as caught:
        StorageRootSettings(**values)
    assert "hunter2" not in str(caught.value)
    (error,) = caught.value.errors()
    assert error["msg"] == (
        "Value error, a place must not hold a password, which plans, logs and metrics would show:"
        " give credentials in the environment"
    )


def test_a_place_may_name_a_user() -> None:
    """As HDFS and Azure do."""
    for root in ("hdfs://flink@namenode:8020/x", "abfss://container@account.dfs.core/x"):
        assert StorageRootSettings(root=root).root == root


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"pin": ["s3://b/\0x"]}, "a place must not hold a NUL, or half of a character"),
        ({"state": "s3://b/\0x"}, "a place must not hold a NUL, or half of a character"),
        (
            {"ended_job": ["every"]},
            "'every' is neither 'all' nor a job id of 32 lower-case hex digits",
        ),
        ({"owner": JOB.upper()}, f"'{JOB.upper()}' is no job id of 32 lower-case hex digits"),
        ({"unsafe_acknowledge_root": ["s3://b/x"]}, "'s3://b/x' is not of the form URI=SHA256"),
        (
            {"flink_rest": ["flink:8081"]},
            "a Flink REST endpoint is an http or https URL, such as http://HOST:8081",
        ),
        ({"kubernetes_ha": ["A"]}, "'A' is no Kubernetes namespace"),
        ({"zookeeper_ha": ["zk"]}, "'zk' is not of the form host:port,host:port/path"),
    ],
)
def test_a_refusal_says_what_would_be_right(options: dict, problem: str) -> None:
    """It is all that an operator sees of a mistyped option."""
    assert problem_of(**options) == f"Value error, {problem}"


def test_a_place_that_holds_the_storage_root_is_never_stated_empty() -> None:
    """Not even as a part of a larger one; a neighbour and a place below may be."""
    for uri in (ROOT, canonical(ROOT).parent, canonical(ROOT).top):
        with pytest.raises(ValidationError, match="holds the storage root"):
            said(empty_roots=(str(uri),))
    below = said(empty_roots=(f"{ROOT}/savepoints", f"{ROOT}2"))
    assert below.is_empty(canonical(f"{ROOT}2"))
    assert not below.is_empty(canonical(f"{ROOT}2/deeper"))


def test_the_other_roots_of_a_job_directory_are_those_around_it_too() -> None:
    job = f"{ROOT}/{'a' * 32}"
    assert said().other_roots == ()
    assert said(root=job).other_roots == (canonical(ROOT),)
    assert said(root=job, siblings=("s3://x/y", ROOT)).other_roots == (
        canonical("s3://x/y"),
        canonical(ROOT),
    )
