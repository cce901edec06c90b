"""A cluster whose certificate only a private authority has signed."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from orphangc.adapters.flink.flink_rest import FlinkRest
from orphangc.errors import RegistryUnavailableError
from support import speed
from support.rest_server import SCENARIOS, RestServer, saved, saved_routes

FIRST, LAST = (datetime(year, 1, 1, tzinfo=UTC) for year in (2000, 2100))


def certificate(folder: Path) -> Path:
    """Write a certificate of this machine that is its own authority, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a private authority")])
    here = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    built = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=1,
        not_valid_before=FIRST,
        not_valid_after=LAST,
    ).add_extension(here, critical=False)
    signed = built.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    pem = serialization.Encoding.PEM
    path = folder / "certificate.pem"
    path.write_bytes(
        signed.sign(key, hashes.SHA256()).public_bytes(pem)
        + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


def test_a_private_authority_is_trusted_if_the_environment_names_it(tmp_path, monkeypatch) -> None:
    """``SSL_CERT_FILE``; without it the cluster has no answer, and nothing is known of its jobs."""
    path, scenario = certificate(tmp_path), SCENARIOS[0]
    job = saved(scenario, "job")["jid"]
    with RestServer(saved_routes(scenario), path) as server:
        rest = FlinkRest(server.url, timeout=timedelta(seconds=speed.answer()))
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
        with pytest.raises(RegistryUnavailableError, match="certificate"):
            rest.observe()
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        assert job in rest.observe().jobs
