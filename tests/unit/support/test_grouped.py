"""A case of many values holds for each of them, and names the one for which it does not."""

import pytest

pytest_plugins = ["pytester"]


def test_a_failure_names_its_value_and_marks_choose_groups(pytester: pytest.Pytester) -> None:
    """Otherwise nobody would know which of the hundred files it is."""
    pytester.makepyfile(
        "import pytest\n"
        "from support.grouped import for_each\n"
        "GROUPS = {'good': [1, 2], 'bad': [3, 40, 5], 'left': [6]}\n"
        "@for_each('value', GROUPS, shown=hex, marks={'left': [pytest.mark.skip]})\n"
        "@pytest.mark.parametrize('twice', 'ab')\n"
        "def test_it(value, twice):\n"
        "    assert value < 10\n"
    )
    done = pytester.runpytest("-n0", "-p", "no:randomly", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=2, failed=2, skipped=2)
    done.stdout.fnmatch_lines(["*assert 40 < 10*", "*value: 0x28*"])
