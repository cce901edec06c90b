"""Pythons for executors: one that lacks orphangc, and one that is packed into an archive."""

import subprocess
import sys
import sysconfig
import tarfile
import venv
from importlib.util import find_spec
from pathlib import Path

from orphangc.adapters.spark.executor_package import write_package
from orphangc.adapters.spark.session import check_java
from orphangc.errors import SettingsError


def why_not() -> str | None:
    """Return why Spark cannot run here, ``None`` if it can."""
    if find_spec("pyspark") is None:
        return "PySpark is not installed"
    try:
        check_java()
    except SettingsError as err:
        return str(err)
    return None


def spark_home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def bare_python(folder: Path) -> Path:
    """Return a Python that has everything that orphangc needs, but not orphangc.

    A ``.pth`` file lends it the libraries of this one; what stands in their own ``.pth`` files,
    as an editable installation does, is not followed.
    """
    venv.create(folder, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    lent = folder / "lib" / version / "site-packages" / "lent.pth"
    lent.write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin" / "python"
    lacks = "import sys, numpy, botocore\ntry:\n import orphangc\nexcept ImportError:\n sys.exit(7)"
    assert subprocess.run([python, "-c", lacks], check=False).returncode == 7
    return python


def package_zip(folder: Path) -> Path:
    path = folder / "orphangc.zip"
    write_package(path)
    return path


def packed_environment(folder: Path) -> Path:
    """Return an archive of a Python that has orphangc too, for ``--archives``."""
    place = folder / "environment"
    python = bare_python(place)
    site = next((place / "lib").glob("python*")) / "site-packages"
    unpacked = folder / "orphangc.zip"
    write_package(unpacked)
    subprocess.run(
        [python, "-m", "zipfile", "-e", unpacked, site], check=True, stdin=subprocess.DEVNULL
    )
    archive = folder / "environment.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as target:
        target.add(place, arcname=".")
    return archive
