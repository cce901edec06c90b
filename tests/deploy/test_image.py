"""The image is built as anybody would build it, and run as the chart runs it."""

import json
import re
import subprocess
import sys
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import orphangc
from deploy.charts import CHART, Manifest, collector, daemon, of_kind, rendered
from deploy.fixtures import required
from deploy.images import REPOSITORY, ContainerEngine, container_engine
from orphangc.app.commands.operate import demo as demonstrating
from support import speed
from support.processes import finished, until

pytestmark = [pytest.mark.image, pytest.mark.ci, pytest.mark.timeout(1500)]

IMAGE = "localhost/orphangc:test"
RESTRICTED = (
    "--read-only",
    "--tmpfs=/tmp",
    "--volume=/var/lib/orphangc",
    "--user=65532:65532",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--memory=512m",
)

ASK = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=5) as answer:
    print(answer.status, answer.read().decode())
"""


READ = "import pathlib, sys; print(pathlib.Path(sys.argv[1]).read_text())"

TRY_TO_WRITE = """
import os, pathlib
for folder in ("/", "/opt/orphangc", "/usr/bin", "/usr/local/bin", "/var/lib"):
    try:
        pathlib.Path(folder, "a").touch()
    except PermissionError:
        print("refused")
print(os.getuid())
print(next(line for line in open("/proc/self/status") if line.startswith("CapEff")))
"""


@pytest.fixture(scope="module")
def engine() -> ContainerEngine:
    engine = required("image", container_engine)
    engine.build("slim", IMAGE)
    return engine


@pytest.fixture
def storage(tmp_path_factory) -> Path:
    """A folder for the pods: the demonstration's storage, and a place for its state."""
    folder = tmp_path_factory.mktemp("storage")
    folder.chmod(0o755)  # their user is another one than that of the tests
    demonstrating.make_storage(folder / "checkpoints")
    (folder / "state").mkdir()
    (folder / "state").chmod(0o777)
    settings = demonstrating.demo_settings(Path("/flink/checkpoints"), Path("/flink/state"))
    told = {"root", "state", "closed_world", "ended_job", "alias"}
    content = {"storage_roots": [settings.model_dump(mode="json", include=told)]}
    (folder / "config.yaml").write_text(yaml.safe_dump(content))
    (folder / "config.yaml").chmod(0o644)
    return folder


def mounts(storage: Path) -> tuple[str, ...]:
    return (
        f"--volume={storage}:/flink",
        f"--volume={storage}/config.yaml:/etc/orphangc/config.yaml:ro",
    )


def run(
    engine: ContainerEngine, *arguments: str, options=(), **more
) -> subprocess.CompletedProcess:
    command = ["run", "--rm", "--network=none", *RESTRICTED, *options, IMAGE, *arguments]
    return engine.podman(*command, **more)


@pytest.fixture
def daemon_container(engine, storage) -> Iterator[str]:
    name = f"orphangc-{uuid.uuid4().hex[:8]}"
    options = ["--detach", f"--name={name}", "--network=none", *RESTRICTED, *mounts(storage)]
    command = ["serve", "--config", "/etc/orphangc/config.yaml"]
    engine.podman("run", *options, IMAGE, *command)
    try:
        wait_until_ready(engine, name)
        yield name
    finally:
        engine.podman("rm", "--force", "--volumes", "--time=1", name, check=False)


def wait_until_ready(engine: ContainerEngine, container: str) -> None:
    try:
        until(lambda: ask(engine, container, "/readyz").returncode == 0)
    except AssertionError as err:
        said = engine.podman("logs", container, check=False)
        raise AssertionError(f"{err}:\n{said.stdout[-3000:]}{said.stderr[-3000:]}") from err


def ask(engine: ContainerEngine, container: str, path: str) -> subprocess.CompletedProcess:
    url = f"http://127.0.0.1:8080{path}"
    return engine.podman("exec", container, "python", "-c", ASK, url, check=False)


def test_the_image_says_what_it_is(engine):
    """Version, user by number, entry point without a shell between."""
    config = json.loads(engine.podman("inspect", "--type=image", IMAGE).stdout)[0]["Config"]
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["orphangc"]
    labels = config["Labels"]
    assert labels["org.opencontainers.image.version"] == orphangc.__version__
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert run(engine, "--version").stdout.split() == ["orphangc", orphangc.__version__]


PROGRAMS = {"usr/bin/python3.11", "opt/orphangc/bin/orphangc"}
UNWANTED = re.compile(
    r"(^|/)(pip|setuptools|wheel|pkg_resources|ensurepip|idlelib|tkinter|\.cache)(-[^/]*)?(/|$)"
    r"|^(root|src|image|home|etc/(apt|dpkg|pip\.conf|shadow|sudoers|init\.d|cron\.d)|usr/include"
    r"|usr/lib/(apt|dpkg|gcc|jvm)|usr/share/(perl|bash-completion)|var/(cache|log|lib/apt))(/|$)"
)


@pytest.fixture(scope="module")
def files(engine, tmp_path_factory) -> dict[str, tarfile.TarInfo]:
    """Whatever a container of the image has, by path."""
    packed = tmp_path_factory.mktemp("image") / "files.tar"
    container = engine.podman("create", IMAGE).stdout.strip()
    engine.podman("export", f"--output={packed}", container)
    engine.podman("rm", container)
    with tarfile.open(packed) as found:
        members = {each.name.rstrip("/"): each for each in found}
    packed.unlink()
    return members


def test_there_is_no_program_but_python_and_the_collector(files):
    """No shell, no package manager, no compiler, nothing that fetches; nor what is left of one."""
    assert not {name for name in files if UNWANTED.search(name)}
    programs = {
        name
        for name, each in files.items()
        if each.isfile() and each.mode & 0o111 and not re.search(r"\.py$|\.so(\.|$)", name)
    }
    assert programs == PROGRAMS
    folders = ("usr/bin/", "usr/sbin/", "usr/local/bin/", "usr/local/sbin/", "opt/orphangc/bin/")
    callable_names = {name.rpartition("/")[2] for name in files if name.startswith(folders)}
    assert {name for name in callable_names if not name.startswith("python")} == {"orphangc"}


def test_nobody_becomes_another_user_nor_writes_where_others_read(files):
    """No set-user-id, no file of the collector's user but its home, one folder for everybody."""
    for name, each in files.items():
        assert not each.mode & 0o6000, name
        assert each.islnk() or each.issym() or not each.mode & 0o002 or name == "tmp", name
        assert each.isfile() or each.isdir() or each.issym() or each.islnk(), name
    assert files["tmp"].mode & 0o7777 == 0o1777
    home = files["var/lib/orphangc"]
    assert (home.uid, home.gid, home.mode & 0o7777) == (65532, 0, 0o770)
    assert {each.uid for name, each in files.items() if name != "var/lib/orphangc"} == {0}


def test_scanners_are_told_which_packages_are_in_the_image(files):
    """By their own files, each with its copyright: what is patched must be known to be there."""
    told = {name.rpartition("/")[2] for name in files if "dpkg/status.d/" in name}
    assert told >= {"libc6", "libssl3", "libstdc++6", "zlib1g", "ca-certificates", "tzdata"}
    licensed = {name.split("/")[3] for name in files if name.endswith("/copyright")}
    assert licensed >= {"libc6", "libssl3", "ca-certificates"}


def test_a_plan_is_made_where_nothing_but_python_is(engine, storage):
    """As a person would, from the storage to a plan and its table."""
    command = ["plan", "/flink/checkpoints", "--out", "/tmp/plan", "--state", "/flink/state"]
    done = run(engine, *command, options=mounts(storage))
    assert "plan" in done.stdout
    failed = run(engine, "-c", "true", options=("--entrypoint=sh",), check=False)
    assert failed.returncode == 127, failed.stderr


def test_the_demonstration_runs_without_rights_or_network(engine):
    """A user without a name, no capability, a root file system that is read-only, little memory."""
    done = run(engine, "demo", options=("--user=12345:0",))
    assert "9 checkpoints are whole, 6 orphans are gone" in done.stdout


def test_nothing_in_the_image_can_be_changed(engine):
    """Not even by its own user where the root file system could be written."""
    command = ["run", "--rm", "--network=none", "--cap-drop=ALL", "--entrypoint=python"]
    done = engine.podman(*command, IMAGE, "-c", TRY_TO_WRITE)
    assert done.stdout.split() == ["refused"] * 5 + ["65532", "CapEff:", "0" * 16]


def test_doctor_finds_its_way(engine, storage):
    """What the chart's test pod runs: state can be written, the root be listed."""
    command = ["doctor", "--config", "/etc/orphangc/config.yaml", "--output", "json"]
    found = json.loads(run(engine, *command, options=mounts(storage)).stdout)
    health = {each["check"]: each["health"] for each in found}
    assert health["state"] == "good"
    assert "bad" not in health.values()


def test_a_daemon_answers_and_ends_when_it_is_told(engine, daemon_container):
    """SIGTERM reaches it as process 1; it ends with 0, and long before it would be killed."""
    assert "orphangc_build_info" in ask(engine, daemon_container, "/metrics").stdout
    assert ask(engine, daemon_container, "/healthz").returncode == 0
    command = ["python", "-c", READ, "/proc/1/status"]
    status = engine.podman("exec", daemon_container, *command).stdout
    assert re.search(r"CapEff:\s0{16}", status)
    assert re.search(r"NoNewPrivs:\s1", status)
    engine.podman("stop", f"--time={round(speed.command())}", daemon_container, timeout=None)
    state = json.loads(engine.podman("inspect", daemon_container).stdout)[0]["State"]
    assert (state["ExitCode"], state["OOMKilled"]) == (0, False)


def as_pod(objects: list[Manifest], name: str) -> str:
    """Return the collector's pod and its ConfigMap as podman plays them.

    The name is taken from the command line's hand: podman knows no CronJob, and starts no pod of
    a template by itself. Its probes need systemd and its ports a network: the tests ask instead.
    """
    template = collector(objects)
    for container in template["spec"]["containers"]:
        for field in ("startupProbe", "livenessProbe", "readinessProbe", "ports"):
            container.pop(field, None)
    labels = template["metadata"]["labels"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": template["spec"],
    }
    return yaml.safe_dump_all([*of_kind(objects, "ConfigMap"), pod])


@pytest.fixture
def played(engine, storage, helm4, tmp_path) -> Iterator:
    """A function that plays the pod of some values, and returns its container's name."""
    files = []

    def play(values: Manifest) -> str:
        name = f"orphangc-{uuid.uuid4().hex[:8]}"
        image = {"registry": "localhost", "repository": "orphangc", "tag": "test"}
        config = yaml.safe_load((storage / "config.yaml").read_text())
        values = {
            **values,
            "image": image,
            "config": {**values.get("config", {}), **config},
            "extraVolumes": [{"name": "flink", "hostPath": {"path": str(storage)}}],
            "extraVolumeMounts": [{"name": "flink", "mountPath": "/flink"}],
        }
        path = tmp_path / f"{name}.yaml"
        path.write_text(as_pod(rendered(helm4, values), name))
        files.append(path)
        engine.podman("play", "kube", "--network=none", str(path))
        return f"{name}-orphangc"

    yield play
    for path in files:
        engine.podman("play", "kube", "--down", str(path), check=False)


def test_the_charts_daemon_runs_as_its_pod_is_written(engine, played):
    """User, capabilities, read-only root, volumes, configuration: all as the chart says."""
    container = played({**daemon(), "config": {}})
    wait_until_ready(engine, container)
    settings = json.loads(engine.podman("inspect", container).stdout)[0]
    assert settings["Config"]["User"] == "65532:65532"
    assert settings["HostConfig"]["ReadonlyRootfs"] is True
    assert not settings["EffectiveCaps"]
    assert settings["HostConfig"]["Memory"] == 2 * 1024**3
    assert ask(engine, container, "/").stdout.startswith("200 <!")


def test_the_charts_cronjob_runs_once_and_leaves_a_record(engine, played, storage):
    """It reports, as every first run does, and its pod is done."""
    container = played({"config": {"mode": "delete"}})
    code = engine.podman("wait", container, timeout=speed.command()).stdout.strip()
    said = engine.podman("logs", container)
    assert code == "0", said.stderr
    [record] = json.loads(said.stdout)
    assert (record["mode"], record["effective_mode"]) == ("delete", "report")
    assert record["objects_listed"] == 303
    assert list((storage / "state").glob(f"*/records/{record['run_id']}*"))


def test_the_dockerfile_is_clean():
    """By the linter, and without the name of any registry."""
    dockerfile = REPOSITORY / "deploy" / "Dockerfile"
    linter = Path(sys.executable).parent / "hadolint"
    done = finished([linter, dockerfile])
    assert done.returncode == 0, done.stdout
    for line in dockerfile.read_text().splitlines():
        assert not re.match(r"FROM \S+\.\S+/", line)


def test_chart_and_image_agree_on_the_user():
    """The number stands in both."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    user = values["podSecurityContext"]["runAsUser"]
    assert f"USER {user}:{user}" in (REPOSITORY / "deploy" / "Dockerfile").read_text()
