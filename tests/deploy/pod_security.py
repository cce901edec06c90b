"""The "restricted" profile of Kubernetes' Pod Security Standards as a function.

Source: kubernetes.io/docs/concepts/security/pod-security-standards, the rules of "baseline" that
"restricted" does not replace, and those of "restricted".
"""

from collections.abc import Iterator
from typing import Any

Part = dict[str, Any]

VOLUME_TYPES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
    "projected", "secret",
}  # fmt: skip
SAFE_SYSCTLS = {
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}  # fmt: skip
SELINUX_TYPES = {"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
SECCOMP_TYPES = {"RuntimeDefault", "Localhost"}


def problems_of(pod: Part) -> list[str]:
    spec = pod["spec"]
    context = spec.get("securityContext", {})
    found = [*_of_pod(spec, context), *_of_context("pod", context)]
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(kind, []):
            found += [f"{container['name']}: {each}" for each in _of_container(container, context)]
    return found


def _of_pod(spec: Part, context: Part) -> Iterator[str]:
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(name):
            yield f"{name} is on"
    for volume in spec.get("volumes", []):
        for kind in set(volume) - {"name"} - VOLUME_TYPES:
            yield f"volume {volume['name']} is a {kind}"
    for sysctl in context.get("sysctls", []):
        if sysctl["name"] not in SAFE_SYSCTLS:
            yield f"sysctl {sysctl['name']} is not safe"


def _of_container(container: Part, pod: Part) -> Iterator[str]:
    context = container.get("securityContext", {})
    yield from _of_context("container", context)
    if context.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True:
        yield "runAsNonRoot is not true"
    if context.get("seccompProfile", pod.get("seccompProfile", {})).get("type") is None:
        yield "there is no seccomp profile"
    if context.get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation is not false"
    if context.get("privileged"):
        yield "it is privileged"
    if context.get("procMount", "Default") != "Default":
        yield "procMount is not Default"
    capabilities = context.get("capabilities", {})
    if "ALL" not in capabilities.get("drop", []):
        yield "capabilities do not drop ALL"
    for added in set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
        yield f"capability {added} is added"
    yield from _of_network(container)


def _of_network(container: Part) -> Iterator[str]:
    for port in container.get("ports", []):
        if port.get("hostPort"):
            yield f"hostPort {port['hostPort']} is taken"
    handlers = [container.get(f"{name}Probe", {}) for name in ("startup", "liveness", "readiness")]
    handlers += container.get("lifecycle", {}).values()
    for handler in handlers:
        for action in ("httpGet", "tcpSocket"):
            if handler.get(action, {}).get("host"):
                yield f"{action} asks another host"


def _of_context(where: str, context: Part) -> Iterator[str]:
    """Yield the rules that hold alike for the pod's and for each container's context."""
    if context.get("runAsUser") == 0:
        yield f"{where}: runAsUser is 0"
    if context.get("runAsNonRoot") is False:
        yield f"{where}: runAsNonRoot is false"
    if context.get("seccompProfile", {}).get("type", "RuntimeDefault") not in SECCOMP_TYPES:
        yield f"{where}: the seccomp profile is not allowed"
    if context.get("appArmorProfile", {}).get("type") == "Unconfined":
        yield f"{where}: AppArmor is off"
    if context.get("windowsOptions", {}).get("hostProcess"):
        yield f"{where}: hostProcess is on"
    selinux = context.get("seLinuxOptions", {})
    if selinux.get("type", "") not in SELINUX_TYPES or {"user", "role"} & set(selinux):
        yield f"{where}: SELinux options are not allowed"
