"""Field, option, default and text of a setting are one."""

from inspect import signature

from orphangc.app.cli.collect_commands import plan
from orphangc.app.console.setting_texts import SETTINGS
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.shown import shown_fields
from support.setting_texts import MODULE, module


def test_the_module_is_made_from_the_settings() -> None:
    """``PYTHONPATH=tests python -m support.setting_texts`` writes it."""
    assert MODULE.read_text() == module()


def test_every_field_that_a_file_may_hold_is_shown() -> None:
    """One that is not is what the loader adds, and no schema has it; the root is the argument."""
    stated = StorageRootSettings.model_json_schema()["properties"].keys()
    assert shown_fields(StorageRootSettings).keys() == stated - {"root"}


def test_every_setting_is_an_option_of_plan() -> None:
    """Whose command, with every setting, stands in pages to copy."""
    assert SETTINGS.keys() - signature(plan).parameters.keys() == set()
