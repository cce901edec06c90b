"""Field, option, default and text of a setting are one."""

from orphangc.app.console.setting_options import _OPTIONS
from orphangc.app.console.setting_texts import SETTINGS
from support.setting_texts import MODULE, module


def test_the_module_is_made_from_the_settings() -> None:
    """``PYTHONPATH=tests python -m support.setting_texts`` writes it."""
    assert MODULE.read_text() == module()


def test_every_setting_is_an_option() -> None:
    assert SETTINGS.keys() - _OPTIONS.keys() == set()
