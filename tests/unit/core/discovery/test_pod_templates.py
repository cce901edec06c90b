"""What a pod template is understood to say; everything else blocks."""

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from support.discovered import ALL, NATIVE, ROOT, SAVEPOINTS, blocks_of, found
from support.flink_resources import a_deployment, a_plain_deployment, configuration, mounted

SET = f"-Dstate.checkpoints.dir={ROOT}"
LINE = f"state.checkpoints.dir: {ROOT}\n"
KEPT = f"state.savepoints.dir: {SAVEPOINTS}\n"
MAPS = {
    "conf": {"flink-conf.yaml": LINE, "log4j.properties": "no option"},
    "prod": {"prod.yaml": f"execution:\n  checkpointing.dir: {ROOT}\n"},
    "lines": {"prod.conf": LINE},
    "properties": {"FLINK_PROPERTIES": LINE, "P": LINE},
    "options": {"P": SET},
    "bytes": {"flink-conf.yaml": None},
}
TASKS = "taskmanager"
IN_SECRET = {"secretKeyRef": {"name": "s", "key": "k"}}

SECRET = {"secret": {"secretName": "s"}}
FOLDER = "/opt/flink/conf"


def env(name: str, value: str) -> dict:
    return {"name": name, "value": value}


def secret(name: str) -> dict:
    return {"name": name, "valueFrom": IN_SECRET}


def items(key: str, path: str) -> dict:
    return {"items": [{"key": key, "path": path}]}


READ = {
    "a mounted file": mounted({"configMap": {"name": "conf"}}),
    "a key under another name": mounted(
        {"configMap": {"name": "prod", **items("prod.yaml", "config.yaml")}}
    ),
    "one file of a volume": mounted(
        {"configMap": {"name": "lines"}}, "/opt/flink/conf/flink-conf.yaml", subPath="prod.conf"
    ),
    "a projected volume": mounted({"projected": {"sources": [{"configMap": {"name": "conf"}}]}}),
    "a Secret elsewhere": mounted({"secret": {"secretName": "s"}}, "/etc/tls", SET),
    "FLINK_PROPERTIES without a space": {
        "container": {"env": [env("FLINK_PROPERTIES", LINE.replace(": ", ":"))]}
    },
    "FLINK_PROPERTIES of a key": {
        "container": {
            "env": [
                {
                    "name": "FLINK_PROPERTIES",
                    "valueFrom": {"configMapKeyRef": {"name": "properties", "key": "P"}},
                }
            ]
        }
    },
    "FLINK_PROPERTIES of a whole ConfigMap": {
        "container": {"envFrom": [{"configMapRef": {"name": "properties"}}]}
    },
    "a variable in a variable": {
        "container": {
            "env": [env("WHERE", ROOT), env("FLINK_PROPERTIES", "state.checkpoints.dir: $(WHERE)")]
        }
    },
    "a variable in an argument": {
        "container": {"env": [env("OPTION", SET)], "args": ["jobmanager", "$(OPTION)"]}
    },
    "an address in an argument": {
        "container": {
            "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
            "args": ["jobmanager", "$(IP)", SET],
        }
    },
    "quotes in a script": {
        "container": {
            "command": ["/bin/sh", "-c"],
            "args": [f"exec $FLINK_HOME/bin/jobmanager.sh start-foreground '{SET}'"],
        }
    },
    "two words": {"container": {"args": ["standalone-job", "-D", SET.removeprefix("-D")]}},
    "Flink's own command": {
        "container": {
            "command": ["/docker-entrypoint.sh"],
            "args": ["bash", "-c", f"kubernetes-jobmanager.sh kubernetes-application {SET} "],
        }
    },
    "a Secret with a prefix that is none of Flink's": {
        "container": {
            "args": ["jobmanager", SET],
            "envFrom": [{"prefix": "AWS_", "secretRef": {"name": "s"}}],
        }
    },
    "a Secret behind variables that are given": {
        "container": {
            "args": ["jobmanager"],
            "envFrom": [{"secretRef": {"name": "s"}}],
            "env": [env("FLINK_PROPERTIES", LINE), env("FLINK_CONF_DIR", "/opt/flink/conf")],
        }
    },
}
"""Templates that name the same directory in as many ways."""


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job"])
@pytest.mark.parametrize("name", READ)
def test_a_template_that_is_understood_names_its_directory(name: str, kind: str) -> None:
    """In each kind of workload."""
    world = world_of_discovery(found([a_plain_deployment(kind=kind, **READ[name])], MAPS))
    assert (world.storage_roots, blocks_of(world)) == ((ROOT,), ())


def plain(*args: str, **container) -> dict:
    return {"container": {"args": ["jobmanager", SET, *args], **container}}


def script(text: str, **container) -> dict:
    return {"container": {"command": ["bash", "-c", text], **container}}


HIDING = {
    "a Secret over the configuration": mounted(SECRET, FOLDER, SET),
    "a Secret's file in it": mounted(SECRET, f"{FOLDER}/config.yaml", SET, subPath="config.yaml"),
    "a projected Secret": mounted(
        {"projected": {"sources": [{"configMap": {"name": "conf"}}, {"secret": {"name": "s"}}]}}
    ),
    "a folder that an init container fills": mounted({"emptyDir": {}}, FOLDER, SET),
    "a folder around it": mounted({"hostPath": {"path": "/flink"}}, "/opt/flink", SET),
    "a folder that looks like it": mounted({"csi": {"driver": "d"}}, "/usr/lib/flink/conf", SET),
    "a folder that a variable names": {
        **mounted({"persistentVolumeClaim": {"claimName": "c"}}, "/data", SET),
        "container": {
            "args": ["jobmanager", SET],
            "env": [env("FLINK_CONF_DIR", "/data/flink")],
            "volumeMounts": [{"name": "conf", "mountPath": "/data"}],
        },
    },
    "a folder that an option names": mounted(
        {"emptyDir": {}}, "/data", SET, "--configDir=/data/flink"
    ),
    "a path of variables": mounted(
        {"configMap": {"name": "conf"}}, FOLDER, SET, subPathExpr="$(X)"
    ),
    "a key that is not there": mounted(
        {"configMap": {"name": "conf", **items("config.yaml", "config.yaml")}},
        "/opt/flink/conf",
        SET,
    ),
    "bytes": mounted({"configMap": {"name": "bytes"}}, FOLDER, SET),
    "a volume that is not there": plain(volumeMounts=[{"name": "x", "mountPath": "/x"}]),
    "FLINK_PROPERTIES of a Secret": plain(env=[secret("FLINK_PROPERTIES")]),
    "FLINK_PROPERTIES of an unknown variable": plain(env=[env("FLINK_PROPERTIES", "$(X)")]),
    "a whole Secret": plain(envFrom=[{"secretRef": {"name": "s"}}]),
    "a whole Secret over a ConfigMap": plain(
        envFrom=[{"configMapRef": {"name": "properties"}}, {"secretRef": {"name": "s"}}]
    ),
    "an argument of a ConfigMap under a Secret": plain(
        "$(P)",
        envFrom=[{"configMapRef": {"name": "options"}}, {"secretRef": {"name": "s"}}],
        env=[env("FLINK_PROPERTIES", LINE), env("FLINK_CONF_DIR", FOLDER)],
    ),
    "a whole Secret with a prefix of Flink's": plain(
        envFrom=[{"prefix": "FLINK_", "secretRef": {"name": "s"}}]
    ),
    "a whole ConfigMap that is not there": plain(envFrom=[{"configMapRef": {"name": "x"}}]),
    "a line of another form": plain(env=[env("FLINK_PROPERTIES", LINE + "no option")]),
    "FLINK_PROPERTIES with a number sign": plain(
        env=[env("FLINK_PROPERTIES", f"# all\nstate.checkpoints.dir: {ROOT} # since 1.19")]
    ),
    "two values of one option": plain(
        env=[
            env("FLINK_PROPERTIES", "state.savepoints.dir: s3://a/b\nstate.savepoints.dir: s3://c")
        ]
    ),
    "an argument of a Secret": plain("$(X)", env=[secret("X")]),
    "an argument of an unknown variable": plain("$(X)"),
    "an option without a value": plain("-Dstate.savepoints.dir", SAVEPOINTS),
    "an option with two values": plain("-Dstate.checkpoints.dir=s3://prod/other"),
    "a restore from an unknown variable": plain("-s", "$(X)"),
    "a script of more than one command": script(f"render && jobmanager.sh start-foreground {SET}"),
    "a script that reads a file": script(f"jobmanager.sh start-foreground {SET} $(cat /options)"),
    "a script with an unknown variable": script(f"jobmanager.sh start-foreground {SET} $OPTIONS"),
    "a script whose variable has more words": script(
        f"jobmanager.sh start-foreground {SET} $OPTIONS", env=[env("OPTIONS", f"-Dx=1 {SET}2")]
    ),
    "a script of the image": {"container": {"args": ["/start.sh", SET]}},
    "no command": {"container": {"args": []}},
    "a variable of another image": plain(env=[env("FLINK_CFG_STATE_SAVEPOINTS_DIR", SAVEPOINTS)]),
    "a hook behind the start": plain(lifecycle={"postStart": {"exec": {"command": ["sed"]}}}),
    "a field that is not known": plain(configuration={"from": "elsewhere"}),
}
"""Templates that name the same directory, and may bring a configuration that hides another."""


@pytest.mark.parametrize("name", HIDING)
def test_a_template_that_may_hide_a_directory_blocks_everything(name: str) -> None:
    """What is understood beside it is not taken back."""
    plain_one = a_plain_deployment(**HIDING[name])
    assert blocks_of(world_of_discovery(found([plain_one], MAPS))) == (ALL,)


@pytest.mark.parametrize("name", HIDING)
def test_a_statement_is_bound_to_the_value_that_it_explains(name: str) -> None:
    """Another value in its place is explained by another statement."""
    one = a_plain_deployment(**HIDING[name])
    parts = [e for each in found([one], MAPS).resources for e in each.unclear]
    stated = [each.statement for each in parts if not each.is_absence]
    absent = [each.origin.resource for each in parts if each.is_absence]
    expected = (ALL,) if any(not e.is_absence and e.is_until_read for e in parts) else ()
    world = world_of_discovery(found([one], MAPS), explained=stated, without_state=absent)
    assert blocks_of(world) == expected
    if name == "a script of the image":
        one["spec"]["template"]["spec"]["containers"][0]["args"].append("--other")
        world = world_of_discovery(found([one], MAPS), explained=stated, without_state=absent)
        assert blocks_of(world) == (ALL,)


def test_a_sidecar_is_not_asked_what_it_runs_unless_it_has_flinks_image() -> None:
    """It shares volumes, whose mounts are asked about."""
    beside = {"name": "logs", "image": "fluentd", "command": ["sh", "-c", "a && b"]}
    pod = a_plain_deployment(**plain())
    containers = pod["spec"]["template"]["spec"]["containers"]
    containers.append(beside)
    assert blocks_of(world_of_discovery(found([pod]))) == ()
    beside["image"] = containers[0]["image"]
    assert blocks_of(world_of_discovery(found([pod]))) == (ALL,)


def test_a_workload_is_known_by_what_it_starts() -> None:
    """Without a label of Flink's."""
    for given, seen in (
        (plain(), 1),
        ({"container": {"args": ["x"], "env": [env("FLINK_PROPERTIES", LINE)]}}, 1),
        ({"container": {"args": ["taskmanager"], "env": [env("FLINK_PROPERTIES", LINE)]}}, 0),
        ({"container": {"image": "nginx", "args": ["nginx"]}}, 0),
        ({"container": {"image": "flink", "args": ["nginx"]}}, 1),
        ({"container": {"args": ["nginx"]}, "labels": {"component": "jobmanager"}}, 1),
        ({"container": {"args": ["bin/taskmanager.sh"]}, "labels": {"type": NATIVE}}, 0),
        ({"container": {"args": ["wait", "jobmanager"]}, "labels": {"component": TASKS}}, 0),
        ({"container": {"args": ["standalone-job"]}, "labels": {"component": TASKS}}, 1),
    ):
        shown = {"labels": {"app": "ours"}, **given}
        assert len(found([a_plain_deployment(**shown)]).resources) == seen, given


def test_a_job_that_has_ended_is_not_asked() -> None:
    """An application in batch mode runs as a Job; its directories stay."""
    job = a_plain_deployment(kind="Job", **plain())
    job["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    world = world_of_discovery(found([job]))
    assert (world.storage_roots, world.clusters) == ((ROOT,), ())


@pytest.mark.parametrize("where", ["podTemplate", "jobManager"])
def test_the_pod_templates_of_an_operators_resource_are_read(where) -> None:
    """It has a command and a configuration of its own; a template adds to them."""

    def blocks(**container) -> tuple:
        pod = {"spec": {"containers": [{"name": "flink-main-container", **container}]}}
        if "volumeMounts" in container:
            pod["spec"]["volumes"] = [{"name": "v", "secret": {"secretName": "s"}}]
        spec = {where: pod if where == "podTemplate" else {"podTemplate": pod}}
        world = world_of_discovery(found([a_deployment(**spec)]))
        return world.extra_roots, blocks_of(world)

    assert blocks(env=[env("FLINK_PROPERTIES", KEPT)]) == ((SAVEPOINTS,), ())
    assert blocks(envFrom=[{"secretRef": {"name": "s"}}]) == ((), (ALL,))
    over = [{"name": "v", "mountPath": "/opt/flink/conf/config.yaml", "subPath": "config.yaml"}]
    assert blocks(volumeMounts=over) == ((), (ALL,))
    assert blocks(volumeMounts=[{"name": "v", "mountPath": "/etc/tls"}]) == ((), ())


def test_templates_of_one_resource_are_merged() -> None:
    """The volume of the common one is mounted by that of the JobManager."""
    mount = [{"name": "v", "mountPath": "/opt/flink/conf/config.yaml", "subPath": "config.yaml"}]
    main = {"name": "flink-main-container", "volumeMounts": mount}
    common = {"spec": {"volumes": [{"name": "v", "configMap": {"name": "new"}}]}}
    job_manager = {"podTemplate": {"spec": {"containers": [main]}}}
    maps = {"new": {"config.yaml": f"execution.checkpointing.savepoint-dir: {SAVEPOINTS}"}}
    shown = found([a_deployment(podTemplate=common, jobManager=job_manager)], maps)
    world = world_of_discovery(shown)
    assert (world.extra_roots, blocks_of(world)) == ((SAVEPOINTS,), ())


def test_both_files_of_a_made_configuration_count() -> None:
    """Which of them the release reads is not known."""
    maps = {"flink-config-orders": {"flink-conf.yaml": KEPT, "config.yaml": "a: {", "log4j": ""}}
    world = world_of_discovery(found([a_deployment()], maps))
    assert (world.extra_roots, blocks_of(world)) == ((SAVEPOINTS,), (ALL,))
    maps["flink-config-orders"]["config.yaml"] = "execution.checkpointing.dir: s3://prod/new"
    assert world_of_discovery(found([a_deployment()], maps)).storage_roots == (
        ROOT,
        "s3://prod/new",
    )


HA, ZOOKEEPER = "high-availability.type", "high-availability.zookeeper.quorum"
KEEPER, SCHEME = {HA: "zookeeper", ZOOKEEPER: "z"}, "fs.default-scheme"


@pytest.mark.parametrize(
    ("spec", "made", "ha", "blocks"),
    [
        (KEEPER, f"{HA}: kubernetes", {"flink", "z:2181/flink"}, ()),
        ({HA: "NONE"}, f"{HA}: kubernetes", {"flink"}, ()),
        (KEEPER, f"{ZOOKEEPER}: y", {"z:2181/flink", "y:2181/flink"}, ()),
        ({HA: "kubernetes", "high-availability": "com.ours.Ha"}, "", {"flink"}, (ALL,)),
        ({"s3.endpoint": "s3.eu.amazonaws.com"}, "s3.endpoint: minio", set(), (ALL,)),
        ({"s3.bucket.prod.endpoint": "minio"}, "", set(), (ALL,)),
        ({"fs.s3a.bucket.other.endpoint": "minio"}, "", set(), ()),
        ({"s3.entropy.key": "check"}, "", set(), (ALL,)),
        ({"state.checkpoints.create-subdir": "FALSE"}, "", set(), ((ROOT,),)),
        ({"state.savepoints.dir": "s3://key@prod/sp"}, "", set(), (ALL,)),
        ({"state.savepoints.dir": "s3://key:secret@prod/${X}"}, "", set(), (ALL,)),
        ({"state.savepoints.dir": "s3:///sp"}, "", set(), (ALL,)),
        ({"state.savepoints.dir": "hdfs:///sp"}, "", set(), (ALL,)),
        ({"state.savepoints.dir": "/sp", SCHEME: "s3://${B}"}, "", set(), (ALL,)),
        ({"state.savepoints.dir": "/sp", SCHEME: "s3://a"}, f"{SCHEME}: s3://b", set(), (ALL,)),
    ],
)  # fmt: skip
def test_every_source_and_spelling_of_an_option_counts(spec, made, ha, blocks) -> None:
    """Of the spec and of the configuration that the operator made."""
    maps = {"flink-config-orders": {"flink-conf.yaml": made}}
    world = world_of_discovery(found([a_deployment(config={**configuration(), **spec})], maps))
    assert {*world.kubernetes_ha, *world.zookeeper_ha} == ha
    assert tuple(dict.fromkeys(blocks_of(world))) == blocks


def test_the_memory_holds_checkpoints_only_if_every_source_says_so() -> None:
    """Otherwise the directory is missing."""
    config = {"state.checkpoint-storage": "jobmanager"}
    maps = {"flink-config-orders": {"flink-conf.yaml": "state.checkpoint-storage: filesystem"}}
    (alone,) = found([a_deployment(config=config)]).resources
    assert [each.is_until_asked for each in alone.unclear] == [True]
    (contradicted,) = found([a_deployment(config=config)], maps).resources
    assert [each.is_until_asked for each in contradicted.unclear] == [False]
    assert blocks_of(world_of_discovery(found([a_deployment(config=config)], maps))) == (ALL,)
