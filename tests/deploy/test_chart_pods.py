"""Every pod of the chart runs under the strictest profile, and asks for no more than it needs."""

import copy

import pytest

from deploy.charts import CASES, POD_KINDS, ROOTS, collector, daemon, pod_of, pods, rendered, the
from deploy.pod_security import problems_of

pytestmark = pytest.mark.ci

ONE_POD = {
    "spec": {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "a",
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    }
}


@pytest.mark.parametrize("case", CASES)
def test_every_pod_is_restricted(helm4, case):
    """All rules of the Pod Security Standard, the test pods included."""
    found = list(pods(rendered(helm4, case)))
    assert found
    for name, pod in found:
        assert problems_of(pod) == [], name


@pytest.mark.parametrize("case", CASES)
def test_no_container_of_ours_can_write_where_it_was_installed(helm4, case):
    """A read-only root, a user that is a number, a memory limit, and no CPU limit."""
    for name, pod in pods(rendered(helm4, case)):
        user = pod["spec"]["securityContext"]
        assert user["runAsUser"] == user["runAsGroup"] == 65532, name
        for container in pod["spec"]["containers"]:
            if container["image"] == "busybox":
                continue
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["resources"]["limits"].keys() == {"memory"}
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("spec", "hostNetwork"), True, "hostNetwork"),
        (("spec", "hostPID"), True, "hostPID"),
        (("spec", "securityContext", "runAsNonRoot"), False, "runAsNonRoot"),
        (("spec", "securityContext", "runAsUser"), 0, "runAsUser"),
        (("spec", "securityContext", "seccompProfile", "type"), "Unconfined", "seccomp"),
        (("spec", "securityContext", "sysctls"), [{"name": "kernel.sem"}], "sysctl"),
        (("spec", "securityContext", "seLinuxOptions"), {"user": "x"}, "SELinux"),
        (("spec", "securityContext", "windowsOptions"), {"hostProcess": True}, "hostProcess"),
        (("spec", "securityContext", "appArmorProfile"), {"type": "Unconfined"}, "AppArmor"),
        (("spec", "volumes"), [{"name": "a", "hostPath": {"path": "/"}}], "hostPath"),
        (("spec", "containers", 0, "ports"), [{"containerPort": 1, "hostPort": 1}], "hostPort"),
        (("spec", "containers", 0, "livenessProbe"), {"httpGet": {"host": "x"}}, "host"),
        (("spec", "containers", 0, "securityContext", "privileged"), True, "privileged"),
        (("spec", "containers", 0, "securityContext", "procMount"), "Unmasked", "procMount"),
        (("spec", "containers", 0, "securityContext", "runAsNonRoot"), False, "runAsNonRoot"),
        (
            ("spec", "containers", 0, "securityContext", "allowPrivilegeEscalation"),
            True,
            "allowPrivilegeEscalation",
        ),
        (("spec", "containers", 0, "securityContext", "capabilities"), {"drop": []}, "drop"),
        (
            ("spec", "containers", 0, "securityContext", "capabilities"),
            {"drop": ["ALL"], "add": ["CHOWN"]},
            "CHOWN",
        ),
        (("spec", "initContainers"), [{"name": "b"}], "b:"),
    ],
)
def test_the_test_of_the_profile_sees_each_breach(path, value, expected):
    """A pod that keeps all rules but one is found out by that one."""
    pod = copy.deepcopy(ONE_POD)
    assert problems_of(pod) == []
    *way, last = path
    place = pod
    for step in way:
        place = place[step]
    place[last] = value
    assert any(expected in problem for problem in problems_of(pod))


def test_only_those_that_speak_to_kubernetes_get_a_token(helm4):
    """Cloud identities bring a token of their own."""
    with_token = {case for case in CASES if _has_token(rendered(helm4, case))}
    assert with_token == {"kubernetes", "existing", "discovery"}


def _has_token(objects: list) -> bool:
    accounts = [each for each in objects if each["kind"] == "ServiceAccount"]
    assert all(each["automountServiceAccountToken"] is False for each in accounts)
    return collector(objects)["spec"]["automountServiceAccountToken"]


def test_a_cronjob_never_runs_two_at_once_and_leaves_the_retry_to_the_next_run(helm4):
    """A drained node's pod is started again; a wrong configuration never is."""
    cron_job = the(rendered(helm4, "report"), "CronJob")["spec"]
    assert cron_job["concurrencyPolicy"] == "Forbid"
    assert cron_job["startingDeadlineSeconds"] >= 10
    job = cron_job["jobTemplate"]["spec"]
    assert job["backoffLimit"] == 0
    assert job["template"]["spec"]["restartPolicy"] == "Never"
    ignored, failed = job["podFailurePolicy"]["rules"]
    assert ignored["action"] == "Ignore"
    assert failed["action"] == "FailJob"
    assert 2 in failed["onExitCodes"]["values"]
    assert (
        failed["onExitCodes"]["containerName"] == job["template"]["spec"]["containers"][0]["name"]
    )


def test_a_daemon_is_asked_for_its_life_and_its_readiness(helm4):
    """The probes go to the port that the configuration tells the daemon to listen at."""
    objects = rendered(helm4, daemon(config={**ROOTS, "http": {"port": 9999}}))
    [container] = collector(objects)["spec"]["containers"]
    assert container["ports"] == [{"name": "http", "containerPort": 9999, "protocol": "TCP"}]
    assert container["startupProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    assert the(objects, "Service")["spec"]["ports"][0]["targetPort"] == "http"


def test_a_daemon_is_alone(helm4):
    """Recreate ends the old one before the new one begins."""
    alone = the(rendered(helm4, daemon()), "Deployment")["spec"]
    assert (alone["replicas"], alone["strategy"]) == (1, {"type": "Recreate"})


def test_what_selects_pods_selects_the_collector_and_not_the_test_pods(helm4):
    """A Service that sent requests to a test pod would answer nothing."""
    objects = rendered(helm4, daemon(networkPolicy={"enabled": True}))
    selectors = [
        the(objects, "Service")["spec"]["selector"],
        the(objects, "Deployment")["spec"]["selector"]["matchLabels"],
    ]
    tests = [pod_of(each) for each in objects if each["kind"] == "Pod"]
    assert len(tests) == 2
    for selector in selectors:
        assert selector.items() <= collector(objects)["metadata"]["labels"].items()
        assert not any(selector.items() <= pod["metadata"]["labels"].items() for pod in tests)
    guarded = the(objects, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"]
    for pod in [*tests, collector(objects)]:
        assert guarded.items() <= pod["metadata"]["labels"].items()


def test_a_new_configuration_starts_new_pods(helm4):
    """A daemon reads its file once."""
    sums = {
        collector(rendered(helm4, daemon(config={**ROOTS, "mode": mode})))["metadata"][
            "annotations"
        ]["checksum/config"]
        for mode in ("report", "quarantine")
    }
    assert len(sums) == 2


def test_a_secret_becomes_variables(helm4):
    """All of its keys as they are, or those that are chosen."""
    whole = collector(rendered(helm4, "daemon"))["spec"]["containers"][0]
    assert whole["envFrom"] == [{"secretRef": {"name": "object-store"}}]
    chosen = collector(rendered(helm4, "everything"))["spec"]["containers"][0]
    names = {each["name"]: each for each in chosen["env"]}
    secret = names["AWS_SECRET_ACCESS_KEY"]["valueFrom"]["secretKeyRef"]
    assert secret == {"name": "object-store", "key": "secret-key"}
    assert chosen["envFrom"] == [{"configMapRef": {"name": "proxy-settings"}}]


def test_a_digest_wins_over_a_tag(helm4):
    """What was pinned is what runs."""

    def image(**settings: str) -> str:
        values = {"config": ROOTS, "image": {"repository": "orphangc", **settings}}
        return collector(rendered(helm4, values))["spec"]["containers"][0]["image"]

    digest = "sha256:" + "0" * 64
    assert image(tag="1.2.3", registry="example.org") == "example.org/orphangc:1.2.3"
    assert image(tag="1.2.3", digest=digest) == f"orphangc@{digest}"


def test_every_place_that_is_written_to_is_a_volume(helm4):
    """Plans, temporary files, and the state where it lies in a volume."""
    for case in CASES:
        for each in rendered(helm4, case):
            if each["kind"] in POD_KINDS and "volumes" in pod_of(each)["spec"]:
                mounts = pod_of(each)["spec"]["containers"][0]["volumeMounts"]
                assert {"/tmp", "/var/lib/orphangc", "/etc/orphangc"} <= {
                    mount["mountPath"] for mount in mounts
                }
    volumes = collector(rendered(helm4, "volume"))["spec"]["volumes"]
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "nightly-orphangc"}}
    assert claim in volumes
    assert collector(rendered(helm4, "volume"))["spec"]["securityContext"]["fsGroup"] == 65532
