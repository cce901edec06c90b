"""Coverage-guided fuzzing of the metadata reader, by hand.

atheris has wheels for Linux on x86-64 only, so it is no part of the development tools::

    pip install --target /tmp/atheris atheris PYTHONPATH=/tmp/atheris:tests python
    tests/robustness/fuzz/atheris_metadata.py -max_total_time=180 CORPUS

CORPUS is a folder that keeps what was found; without one, nothing is kept. It begins with the
golden files. The oracle is that of ``robustness.fuzz.targets``.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["flinkstate"]):
    import flinkstate.metadata.reader
    import flinkstate.metadata.references  # noqa: F401 - instrumented

from orphangc.errors import UnreadableMetadataError
from robustness.fuzz.targets import SMALL, check_metadata


def one_input(data: bytes) -> None:
    """Read some bytes; a crash is whatever is neither an answer nor the reader's own error."""
    try:
        check_metadata(data, Path())
    except UnreadableMetadataError:
        return


def main() -> None:
    """Fuzz until libFuzzer's options say that it is enough."""
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(SMALL):
            Path(folder, f"golden-{number}").write_bytes(data)
        atheris.Setup([*sys.argv, folder], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
