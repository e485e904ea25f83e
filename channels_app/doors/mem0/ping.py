"""GET /v1/ping/: whose key this is, asked by that client before anything else."""

from rest_framework.response import Response

from channels_app.doors.mem0.calls import Mem0Call
from memories.api.calls import Method
from memories.choices import Permission


class PingView(Mem0Call):
    """The workspace of a key; with no address of a person, by which that client would tell others who uses it."""

    @Method("mem0_ping", Permission.READ, None)
    def get(self) -> Response:
        workspace = str(self.caller.workspace_id)
        return Response({"status": "ok", "org_id": workspace, "project_id": workspace, "user_email": None})
