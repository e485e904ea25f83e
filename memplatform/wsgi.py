"""The WSGI application the web processes serve."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from memplatform.http.unread_bodies import UnreadBodies
from memplatform.processes import metrics_files

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
if settings.PROCESS == "web":
    metrics_files.reserve()
application = UnreadBodies(get_wsgi_application())

if settings.PROCESS == "web":
    from memories import embeddings
    from memplatform.processes import heartbeat

    heartbeat.start("web")
    embeddings.warm_up()  # in this worker, after the fork: the first question should not wait for the model
