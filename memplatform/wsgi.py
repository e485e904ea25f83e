"""The WSGI application the web processes serve."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
application = get_wsgi_application()

if settings.PROCESS == "web":
    from memplatform import heartbeat

    heartbeat.start("web")
