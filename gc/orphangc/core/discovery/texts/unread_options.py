"""Options by which a configuration comes from elsewhere, or means another place than it names.

Source: Flink 1.14-2.3, ``KubernetesConfigOptions``, ``CoreOptions``, ``StateBackendLoader``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

STORAGE_OPTIONS = ("execution.checkpointing.storage", "state.checkpoint-storage")
STATE_PREFIXES = (
    *("state.", "execution.", "savepoints.", "high-availability", "recovery.", "dstl."),
    "job-result-store.",
)
_BACKEND_OPTIONS = ("state.backend.type", "state.backend")
_BACKENDS = re.compile(
    r"hashmap|rocksdb|forst|filesystem|jobmanager"
    r"|org\.apache\.flink\.[a-z.]+\.(?:HashMap|EmbeddedRocksDB|RocksDB|ForSt|Memory|Fs)StateBackendFactory",
    re.IGNORECASE,
)
"""Flink's own state backends, which keep checkpoints in the directories that options name.

Source: Flink 1.14-2.3, ``StateBackendLoader``.
"""
_UNREAD = re.compile(
    r"kubernetes\.jobmanager\.entrypoint\.args|containerized\.master\.env\..+"
    r"|kubernetes\.hadoop\.conf\.config-map\.name"
    r"|kubernetes\.pod-template-file(?:\.default|\.jobmanager)?"
)
"""Options that bring a configuration from elsewhere, which is not read.

A TaskManager's pod template brings none: the JobManager chooses the directories.
"""
_USUAL: Mapping[str, frozenset[str]] = {
    "kubernetes.entry.path": frozenset(
        {"/docker-entrypoint.sh", "/opt/flink/bin/kubernetes-entry.sh"}
    ),
    "kubernetes.flink.conf.dir": frozenset({"/opt/flink/conf"}),
    "kubernetes.container-start-command-template": frozenset(
        {"%java% %classpath% %jvmmem% %jvmopts% %logging% %class% %args% %redirects%"}
    ),
}
"""Options that choose start script and folder of the configuration, with what they are in Flink's
own images.

Source: Flink 1.14-2.3, ``KubernetesConfigOptions``, ``KubernetesConfigOptionsInternal``.
"""
_ACCESS_POINT = re.compile(
    r"(?:(?:flink\.hadoop\.)?fs\.)?s3[anp]?\.(?:bucket\..+\.)?accesspoint\.arn"
)
_FILE_SYSTEM = re.compile(r"(?:flink\.hadoop\.)?fs\.s3[anp]?\.impl")
_HADOOPS_S3 = "org.apache.hadoop.fs.s3a.S3AFileSystem"
"""Hadoop's own class for S3.

Source: Hadoop 3.3-3.4, ``core-default.xml``; ``fs.s3a.bucket.NAME.accesspoint.arn`` leads the name
of a bucket to another one.
"""
_SECRETS = re.compile(r"kubernetes\.(?:env\.secretKeyRef|secrets(?:\..+)?)")
_CONFIGURES = re.compile(
    r"FLINK_PROPERTIES|FLINK_CONF_DIR|checkpoint|savepoint|ckpt|/[^,;]*\bconf(?![a-z])",
    re.IGNORECASE,
)
"""Variables and folders of a Secret that may choose a place, in options that name Secrets.

Source: Flink 1.14-2.3, ``KubernetesConfigOptions``.
"""
_MADE_FILE = "flink_op_generated_"
"""Beginning of the file that the operator makes of a ``podTemplate``, which is read.

Source: Flink Kubernetes operator 1.8-1.15, ``FlinkConfigBuilder``.
"""
_JAVA_OPTIONS = re.compile(r"env\.java\.opts(?:\.all|\.jobmanager)?")
_SETS_FLINK = re.compile(
    r"FLINK_CONF_DIR|-D\s*[\"']?(?:state|execution|savepoints|high-availability|recovery|dstl)\."
)
_STORAGES = frozenset({"jobmanager", "filesystem"})


def spelled(value: Any) -> str:
    """Return a scalar value as Flink's files spell it."""
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def without_sources(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a running cluster without those that set others: they have done so."""
    return {
        name: value
        for name, value in options.items()
        if not (_UNREAD.fullmatch(name) or _JAVA_OPTIONS.fullmatch(name) or name in _USUAL)
    }


def why_unread(name: str, value: Any) -> str | None:
    """Return why an option may set others that are not read, ``None`` if it does not."""
    text = "" if value is None else spelled(value)
    strange = _strange_form(name, text)
    if strange is not None or not text:
        return strange
    return _setting_others(name, text) or _leading_elsewhere(name, text)


def _strange_form(name: str, text: str) -> str | None:
    """Return why a release may read an option as another one, ``None`` if none does."""
    if any(each != each.strip() for each in name.split(".")):
        return "has spaces around its name: some releases read it without them"
    if "$" in name and not name.startswith("$internal."):
        return "has a variable in its name: what it is replaced by is not known"
    if any(line.strip().startswith(STATE_PREFIXES) for line in text.splitlines()[1:]):
        return "has a line for an option of state: some releases take it for that option"
    return None


def _setting_others(name: str, text: str) -> str | None:
    if _UNREAD.fullmatch(name) and not text.rpartition("/")[2].startswith(_MADE_FILE):
        return "brings a configuration that is not read: set its options themselves"
    if _SECRETS.fullmatch(name) and _CONFIGURES.search(text):
        return "gives a configuration from a Secret, which is not read: set its options themselves"
    if _JAVA_OPTIONS.fullmatch(name) and _SETS_FLINK.search(text):
        return "sets options of Flink where they are not read: set them themselves"
    return None


def _leading_elsewhere(name: str, text: str) -> str | None:
    """Return why an option may lead to files in a place that is not known, ``None`` if not."""
    if text not in _USUAL.get(name, text):
        return "chooses a start script or a folder that is not known: leave it at Flink's own"
    if _ACCESS_POINT.fullmatch(name):
        return "leads the name of a bucket to another one: which one is not known"
    if _FILE_SYSTEM.fullmatch(name) and text != _HADOOPS_S3:
        return "chooses a file system that is not known: what stands behind s3 is unknown"
    if name in _BACKEND_OPTIONS and not _BACKENDS.fullmatch(text):
        return "names a state backend that is not known: where it keeps its files is unknown"
    if name in STORAGE_OPTIONS and text.lower() not in _STORAGES:
        return "names a storage of checkpoints that is not known: where it keeps them is unknown"
    return None
