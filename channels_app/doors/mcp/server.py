"""What a client of MCP can do: tools, resources and a prompt, each one call of the API."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import lifespan as no_lifespan
from mcp.shared.exceptions import MCPError

from channels_app.doors.mcp import resources
from channels_app.doors.mcp.api import Api, Refused
from channels_app.doors.mcp.wording import ASKED, INSTRUCTIONS, NOT_FOUND, PROMPT, PROMPT_TITLE

Context = ServerRequestContext[Any, Any]
Answer = TypeVar("Answer")
PROMPT_NAME = "what_do_you_know_about_me"
#: Calls of the API that are tools, with the part of their answer a model reads.
CALLS = {"memory_recall": ("recall", "context"), "memory_context": ("context", "text")}


def make_server(api_of: Callable[[Context], Api], lifespan: Any = no_lifespan) -> Server[Any]:
    """A server of MCP; `api_of` tells with whose key and address a request is made."""

    async def list_tools(context: Context, _params: Any) -> types.ListToolsResult:
        told = await _or_error(api_of(context).listing())
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in told["tools"]])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            return await _call(api_of(context), params.name, params.arguments or {})
        except Refused as problem:
            return _result(str(problem), {"errors": problem.errors}, is_error=True)

    async def list_resources(_context: Context, _params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=resources.RESOURCES)

    async def list_templates(_context: Context, _params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        text = await _or_error(resources.read(api_of(context), params.uri))
        if text is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no {params.uri}.")
        content = types.TextResourceContents(uri=params.uri, mime_type=resources.MARKDOWN, text=text)
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(_context: Context, _params: Any) -> types.ListPromptsResult:
        prompt = types.Prompt(name=PROMPT_NAME, title=PROMPT_TITLE, description=PROMPT)
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != PROMPT_NAME:
            raise MCPError(types.INVALID_PARAMS, f"There is no prompt {params.name}.")
        return await _or_error(_prompt(api_of(context)))

    return Server(
        "memplatform",
        version="1",
        lifespan=lifespan,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


async def _or_error(call: Awaitable[Answer]) -> Answer:
    """What a call answers; where it was refused, an error of MCP."""
    try:
        return await call
    except Refused as problem:
        raise MCPError(types.INVALID_PARAMS if problem.status < 500 else types.INTERNAL_ERROR, str(problem)) from None


async def _call(api: Api, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    if name not in CALLS:
        return _of_tool(await api.here("tools/call", call={"type": "tool_use", "name": name, "input": arguments}))
    told = await api.listing()
    (tool,) = (one for one in told["tools"] if one["name"] == name)
    if unknown := sorted(arguments.keys() - tool["inputSchema"]["properties"].keys()):
        problem = {"code": "unknown", "detail": "There is no such argument."}
        raise Refused(400, [{**problem, "attr": argument} for argument in unknown])
    path, text = CALLS[name]
    answer = await api.here(path, **arguments)
    return _result(answer[text] or NOT_FOUND[told["language"]], answer)


def _of_tool(answer: dict[str, Any]) -> types.CallToolResult:
    """What became of a model's call."""
    (one,) = answer["answers"]
    data = {"errors": one["errors"]} if one["is_error"] else one["result"]
    return _result(one["message"]["content"], data, is_error=one["is_error"])


def _result(text: str, data: Any, *, is_error: bool = False) -> types.CallToolResult:
    content = types.TextContent(text=text)
    return types.CallToolResult(content=[content], structured_content=data, is_error=is_error)


async def _prompt(api: Api) -> types.GetPromptResult:
    """The question with the profile under it."""
    known = await resources.profile(api) or await resources.nothing(api)
    text = types.TextContent(text=ASKED[(await api.listing())["language"]].format(profile=known))
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])
