"""Settings under which migrate takes the steps of before the first release, one by one."""

from memplatform.settings import *  # noqa: F403

MIGRATION_MODULES = {app: f"{app}.migrations.before_release" for app in ("memories", "sessions_app", "channels_app")}
