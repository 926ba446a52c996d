"""The settings that decide a score beside the data. Everything that takes one derives from its declaration."""

from perdure.settings.model import OPTIONS, UNDECIDING, Settings, read_settings, setting_keys, settings_from
from perdure.settings.option import Option

__all__ = ["OPTIONS", "UNDECIDING", "Option", "Settings", "read_settings", "setting_keys", "settings_from"]
