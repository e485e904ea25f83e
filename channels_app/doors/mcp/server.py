"""What a client of MCP can do: tools, resources and a prompt, each one call of the API."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import httpx
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import lifespan as no_lifespan
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from channels_app.doors import address_of
from channels_app.doors.mcp.api import HOME, Api, Refused
from channels_app.doors.tools.wording import NAME_CHARS, UNKNOWN_TOOL, Words

INSTRUCTIONS = (
    "Long-term memory of this person or chat. Search it (memory_search) before you answer anything about the past, read"
    " exact words with memory_get, and save (memory_save) what you are asked to remember. Never present a guess as a"
    " memory."
)
PROMPT_TITLE = "What do you know about me?"
PROMPT = "Tells the user everything memory knows about them."
ASKED: Words = {
    "en": (
        "What do you know about me? Below is my profile as memory has it. Look for more with memory_search: people,"
        " work, plans, what I like, what happened lately. Tell me what you found in a few plain sentences, with dates"
        " where there are any, and say what you could not find. Guess nothing.\n\n{profile}"
    ),
    "zh-hans": (
        "你知道关于我的哪些事？下面是记忆中的个人资料。请用 memory_search 继续查找："
        "人物、工作、计划、喜好、最近发生的事。"
        "用几句简单的话告诉我找到了什么，有日期的写上日期，没有找到的也请说明。不要猜测。\n\n{profile}"
    ),
}
NOT_FOUND: Words = {
    "en": "Nothing in memory bears on this. Say so; do not guess.",
    "zh-hans": "记忆中没有与此相关的内容。请如实说明，不要猜测。",
}


MARKDOWN = "text/markdown"

RESOURCES = [
    types.Resource(uri=uri, name=name, title=title, description=description, mime_type=MARKDOWN)
    for uri, name, title, description in (
        ("memory://profile", "profile", "Profile", "Who the user is: what always holds."),
        ("memory://notes", "notes", "Notes", "The newest lines of the notes, each file with its path."),
        ("memory://days", "days", "Days", "What happened, the latest day first."),
    )
]
TEMPLATES = [
    types.ResourceTemplate(
        uri_template="memory://notes/{+path}", name="note", description="A note, word for word.", mime_type=MARKDOWN
    ),
    types.ResourceTemplate(
        uri_template="memory://days/{date}", name="day", description="What happened on a day.", mime_type=MARKDOWN
    ),
]


Context = ServerRequestContext[Any, Any]
Answer = TypeVar("Answer")
PROMPT_NAME = "what_do_you_know_about_me"
#: Calls of the API that are tools, with the part of their answer a model reads.
CALLS = {"memory_recall": ("recall", "context"), "memory_context": ("context", "text")}


def make_server(api_of: Callable[[Context], Api], lifespan: Any = no_lifespan) -> Server[Any]:
    """A server of MCP; `api_of` tells with whose key and address a request is made."""

    async def list_tools(context: Context, _params: Any) -> types.ListToolsResult:
        listing = await _or_error(api_of(context).listing())
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in listing["tools"]])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            return await call(api_of(context), params.name, params.arguments or {})
        except Refused as problem:
            return _result(str(problem), {"errors": problem.errors}, is_error=True)

    async def list_resources(_context: Context, _params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=RESOURCES)

    async def list_templates(_context: Context, _params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await _or_error(_resource(api_of(context), params.uri))

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


async def call(api: Api, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    """What a client is answered that calls a tool. Raises Refused."""
    listing = await api.listing()
    tools = {tool["name"]: tool for tool in listing["tools"]}
    if name not in tools:
        detail = UNKNOWN_TOOL[listing["language"]].format(name=name[:NAME_CHARS], tools=", ".join(tools))
        raise Refused(400, [{"code": "unknown_tool", "detail": detail, "attr": None}])
    if name not in CALLS:
        response = await api.here("tools/call", call={"type": "tool_use", "name": name, "input": arguments})
        (outcome,) = response["answers"]
        data = {"errors": outcome["errors"]} if outcome["is_error"] else outcome["result"]
        return _result(outcome["message"]["content"], data, is_error=outcome["is_error"])
    if unknown := sorted(arguments.keys() - tools[name]["inputSchema"]["properties"].keys()):
        problem = {"code": "unknown", "detail": "There is no such argument."}
        raise Refused(400, [{**problem, "attr": argument} for argument in unknown])
    path, text = CALLS[name]
    answer = await api.here(path, **arguments)
    return _result(answer[text] or NOT_FOUND[listing["language"]], answer)


def _result(text: str, data: Any, *, is_error: bool = False) -> types.CallToolResult:
    content = types.TextContent(text=text)
    return types.CallToolResult(content=[content], structured_content=data, is_error=is_error)


async def _resource(api: Api, uri: str) -> types.ReadResourceResult:
    # Imported when one is read: the words they quote by take a fifth of the time this server starts in
    from channels_app.doors.mcp import resources

    text = await resources.read(api, uri)
    if text is None:
        raise MCPError(types.INVALID_PARAMS, f"There is no {uri}.")
    content = types.TextResourceContents(uri=uri, mime_type=MARKDOWN, text=text)
    return types.ReadResourceResult(contents=[content])


async def _prompt(api: Api) -> types.GetPromptResult:
    """The question with the profile under it."""
    from channels_app.doors.mcp import resources

    lines = await resources.profile(api) or await resources.nothing(api)
    text = types.TextContent(text=ASKED[(await api.listing())["language"]].format(profile=lines))
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])


async def serve(platform: str, key: str, headers: Mapping[str, str]) -> None:
    """Answer one client until it closes; the API is asked at `platform`, from the address that headers say."""
    async with httpx.AsyncClient(base_url=platform, trust_env=False) as http, stdio_server() as (read, write):
        api = Api(http, key, address_of(headers, None) or HOME)
        server = make_server(lambda _context: api)
        await server.run(read, write, server.create_initialization_options())
