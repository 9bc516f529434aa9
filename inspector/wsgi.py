"""The web application for a WSGI server; `inspector serve` runs it too."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "inspector.settings")

application = get_wsgi_application()
