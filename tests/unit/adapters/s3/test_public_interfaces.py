"""S3 is spoken through what botocore, s3fs and urllib3 promise, and nothing beside that."""

from pathlib import Path

import pytest

from orphangc.adapters import s3

MODULES = sorted(Path(s3.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_no_module_of_s3_uses_a_private_attribute_of_another_library(module: Path) -> None:
    """Ruff finds such an access (SLF001), unless a line asks it not to."""
    assert "SLF001" not in module.read_text()
