"""LlamaIndex, each of its three clients for OpenAI's APIs, on deployments of every dialect. Prints one line a check."""

import asyncio
import base64
from importlib.metadata import version

import openai
from checks import DIALECTS, KEY, PIXEL, SEEN, STRANGER, URL, heard_in, raised_by, run, same
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage, ImageBlock, TextBlock
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAI, OpenAIResponses
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel

HELLO = [ChatMessage("hello there")]
# Two of its clients take no name but OpenAI's: these aliases run two tools at once, or echo.
BY_OPENAI = ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-mini")


class Weather(BaseModel):
    """The weather of a city"""

    city: str
    degrees: int


def get_weather(city: str) -> str:
    """The weather of a city"""
    return "12 degrees"


def get_time(city: str) -> str:
    """The time in a city"""
    return "noon"


FUNCTIONS = {"get_weather": get_weather, "get_time": get_time}
TOOLS = [FunctionTool.from_defaults(fn=function) for function in FUNCTIONS.values()]


def like(model, key=KEY, **more):
    abilities = {"is_chat_model": True, "is_function_calling_model": True, "should_use_structured_outputs": True}
    return OpenAILike(model=model, api_base=URL + "/v1", api_key=key, max_retries=0, **{**abilities, **more})


def both():
    """The clients that know OpenAI's models, and one that takes any: each echoes, and calls two tools where it may."""
    for client in (OpenAI, OpenAIResponses):
        for model in BY_OPENAI:
            yield client(model=model, api_base=URL + "/v1", api_key=KEY, max_retries=0)
    for dialect in DIALECTS:
        yield like(f"parallel-{dialect}")


def chats():
    for llm in both():
        same((llm.complete("hello there").text, llm.chat(HELLO).message.content), ("hello there", "hello there"))
    for dialect in DIALECTS:
        assert like(f"echo-{dialect}").chat(HELLO).raw.usage.total_tokens > 0


def streams_with_and_without_usage():
    for llm in both():
        deltas = [chunk.delta for chunk in llm.stream_chat(HELLO) if chunk.delta]
        assert len(deltas) > 1, deltas
        same("".join(deltas), "hello there")
    for dialect in DIALECTS:
        asked = {"stream_options": {"include_usage": True}}
        for more, wanted in ((asked, 1), ({}, 0)):
            raws = [chunk.raw for chunk in like(f"echo-{dialect}", additional_kwargs=more).stream_chat(HELLO)]
            same(len([raw for raw in raws if raw.usage is not None]), wanted)


def runs_two_tools_at_once():
    for llm in both():
        for streamed in (False, True):
            asked = {"tools": TOOLS, "chat_history": HELLO, "allow_parallel_tool_calls": True}
            first = list(llm.stream_chat_with_tools(**asked))[-1] if streamed else llm.chat_with_tools(**asked)
            calls = llm.get_tool_calls_from_response(first)
            same([(call.tool_name, call.tool_kwargs) for call in calls], [(name, {"city": "sample"}) for name in FUNCTIONS])
            results = [
                ChatMessage(
                    role="tool",
                    content=FUNCTIONS[call.tool_name](**call.tool_kwargs),
                    additional_kwargs={"tool_call_id": call.tool_id, "call_id": call.tool_id},
                )
                for call in calls
            ]
            second = llm.chat_with_tools(TOOLS, chat_history=[*HELLO, first.message, *results], allow_parallel_tool_calls=True)
            same(second.message.content, "noon")


def runs_an_agent():
    async def work():
        for dialect in DIALECTS:
            agent = FunctionAgent(tools=TOOLS, llm=like(f"parallel-{dialect}"))
            same(str(await agent.run("hello there")), "noon")

    asyncio.run(work())


def answers_to_a_schema():
    for dialect in DIALECTS:
        # By a tool it asks in a stream for one that the model may call, so the model is one that calls.
        for by_schema, name in ((True, "echo"), (False, "tool")):
            llm = like(f"{name}-{dialect}", should_use_structured_outputs=by_schema).as_structured_llm(Weather)
            for raw in (llm.complete("weather").raw, list(llm.stream_chat(HELLO))[-1].raw):
                same(raw.model_dump(), {"city": "sample", "degrees": 0})


def shows_pictures_inline_and_by_address():
    blocks = [
        TextBlock(text="look"),
        ImageBlock(image=base64.b64decode(PIXEL), image_mimetype="image/png"),
        ImageBlock(url="https://example.com/a.png"),
    ]
    for dialect in DIALECTS:
        messages = [ChatMessage("be brief", role="system"), ChatMessage(role="user", blocks=blocks)]
        heard = heard_in(like(f"mirror-{dialect}", temperature=0.5).chat(messages).message.content)
        same(heard, {**SEEN, "system": "be brief", "temperature": 0.5})


def raises_its_own_errors():
    raised_by(openai.AuthenticationError, lambda: like("echo-chat", STRANGER).chat(HELLO))
    raised_by(openai.NotFoundError, lambda: like("nothing-of-the-kind").chat(HELLO))
    raised_by(openai.PermissionDeniedError, lambda: like("denied").chat(HELLO))
    for dialect in DIALECTS:

        def ask(name):
            return lambda: like(f"{name}-{dialect}").chat(HELLO)

        raised_by(openai.RateLimitError, ask("limited"))
        same(raised_by(openai.InternalServerError, ask("busy")).status_code, 503)
        same(raised_by(openai.InternalServerError, ask("down")).status_code, 502)
        same(raised_by(openai.BadRequestError, ask("filter")).code, "content_filter")
        same(raised_by(openai.BadRequestError, ask("context")).code, "context_length_exceeded")
        raised_by(openai.APIError, lambda: list(like(f"breaks-{dialect}").stream_chat(HELLO)))


def works_without_blocking():
    async def work():
        for llm in both():
            same((await llm.achat(HELLO)).message.content, "hello there")
            same([chunk.delta async for chunk in await llm.astream_chat(HELLO) if chunk.delta], ["hello ", "there"])

    asyncio.run(work())


run(
    f"llama-index-llms-openai-like {version('llama-index-llms-openai-like')}",
    (
        chats,
        streams_with_and_without_usage,
        runs_two_tools_at_once,
        runs_an_agent,
        answers_to_a_schema,
        shows_pictures_inline_and_by_address,
        raises_its_own_errors,
        works_without_blocking,
    ),
)
