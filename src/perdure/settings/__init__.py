"""The settings that decide a score, apart from the data. Options, files and keyword arguments derive from them."""

from perdure.settings.model import OPTIONS, UNDECIDING, Settings, read_settings, setting_keys, settings_from
from perdure.settings.option import Option

__all__ = ["OPTIONS", "UNDECIDING", "Option", "Settings", "read_settings", "setting_keys", "settings_from"]
