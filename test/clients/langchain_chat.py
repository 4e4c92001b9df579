"""LangChain for Python, its chat and Responses clients, on deployments of every dialect. Prints one line a check."""

import asyncio
import warnings
from importlib.metadata import version

import openai
from checks import DIALECTS, KEY, PIXEL, SEEN, STRANGER, URL, heard_in, raised_by, run, same
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

# What it has parsed does not fit the SDK's own type, and it says so at every schema.
warnings.filterwarnings("ignore", "Pydantic serializer warnings")
HELLO = "hello there"
# Its Responses client asks for encrypted reasoning where nothing is kept.
CLIENTS = ({}, {"use_responses_api": True, "store": False, "include": ["reasoning.encrypted_content"]})
PAIRS = [(client, dialect) for client in CLIENTS for dialect in DIALECTS]


class Weather(BaseModel):
    """The weather of a city"""

    city: str
    degrees: int


@tool
def get_weather(city: str) -> str:
    """The weather of a city"""
    return "12 degrees"


@tool
def get_time(city: str) -> str:
    """The time in a city"""
    return "noon"


TOOLS = {"get_weather": get_weather, "get_time": get_time}


def chat(model, client=CLIENTS[0], key=KEY, **more):
    return ChatOpenAI(model=model, base_url=URL + "/v1", api_key=key, max_retries=0, **client, **more)


def whole(chunks):
    answer = None
    for chunk in chunks:
        answer = chunk if answer is None else answer + chunk
    return answer


def chats():
    for client, dialect in PAIRS:
        answer = chat(f"echo-{dialect}", client).invoke([SystemMessage("be brief"), HumanMessage(HELLO)])
        same(answer.text, HELLO)
        assert answer.usage_metadata["input_tokens"] > 0 and answer.usage_metadata["output_tokens"] > 0, answer
        same([one.text for one in chat(f"echo-{dialect}", client).batch(["one", "two"])], ["one", "two"])


def streams_with_and_without_usage():
    for client, dialect in PAIRS:
        chunks = list(chat(f"echo-{dialect}", client, stream_usage=True).stream(HELLO))
        assert len([chunk for chunk in chunks if chunk.text]) > 1, chunks
        same(whole(chunks).text, HELLO)
        assert whole(chunks).usage_metadata["total_tokens"] > 0, chunks
        if client:
            continue
        # Unasked, Chat Completions say nothing of usage in a stream.
        silent = whole(chat(f"echo-{dialect}", stream_usage=False).stream(HELLO))
        same((silent.text, silent.usage_metadata), (HELLO, None))


def runs_two_tools_at_once():
    for client, dialect in PAIRS:
        for streamed in (False, True):
            bound = chat(f"parallel-{dialect}", client).bind_tools(list(TOOLS.values()))
            messages = [HumanMessage(HELLO)]
            messages.append(whole(bound.stream(messages)) if streamed else bound.invoke(messages))
            calls = messages[-1].tool_calls
            same([(call["name"], call["args"]) for call in calls], [(name, {"city": "sample"}) for name in TOOLS])
            messages.extend(TOOLS[call["name"]].invoke(call) for call in calls)
            same(bound.invoke(messages).text, "noon")


def thinks_before_a_call():
    for client, dialect in PAIRS:
        bound = chat(f"reason-{dialect}", client, reasoning_effort="low").bind_tools([get_weather])
        forced = chat(f"reason-{dialect}", client, reasoning_effort="low").bind_tools([get_weather], tool_choice="any")
        messages = [HumanMessage(HELLO), whole(forced.stream(HELLO))]
        messages.extend(get_weather.invoke(call) for call in messages[-1].tool_calls)
        same(bound.invoke(messages).text, "12 degrees")


def answers_to_a_schema():
    for client, dialect in PAIRS:
        for method in ("json_schema", "function_calling"):
            for strict in (True, False):
                asked = chat(f"echo-{dialect}", client).with_structured_output(Weather, method=method, strict=strict)
                same(asked.invoke("weather"), Weather(city="sample", degrees=0))
            same(list(asked.stream("weather"))[-1], Weather(city="sample", degrees=0))


def shows_pictures_inline_and_by_address():
    content = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        {"type": "image", "url": "https://example.com/a.png"},
    ]
    for client, dialect in PAIRS:
        answer = chat(f"mirror-{dialect}", client, temperature=0.5).invoke([SystemMessage("be brief"), HumanMessage(content)])
        same(heard_in(answer.text), {**SEEN, "system": "be brief", "temperature": 0.5})


def tells_log_probabilities():
    for dialect in ("chat", "responses"):
        model = chat(f"echo-{dialect}", logprobs=True, top_logprobs=2)
        for answer in (model.invoke(HELLO), whole(model.stream(HELLO))):
            tokens = answer.response_metadata["logprobs"]["content"]
            same([(one["token"], len(one["top_logprobs"])) for one in tokens], [("hello ", 2), ("there", 2)])


def embeds():
    for model in ("embed-openai", "embed-gemini"):
        # It would count tokens itself, with a vocabulary from the net.
        embeddings = OpenAIEmbeddings(model=model, base_url=URL + "/v1", api_key=KEY, check_embedding_ctx_length=False)
        one, two = embeddings.embed_documents(["one", "two"])
        assert len(one) == len(two) > 10 and one != two


def raises_its_own_errors():
    raised_by(openai.AuthenticationError, lambda: chat("echo-chat", key=STRANGER).invoke("x"))
    for client, dialect in PAIRS:

        def ask(name):
            return lambda: chat(f"{name}-{dialect}", client).invoke("x")

        raised_by(openai.NotFoundError, lambda: chat("nothing-of-the-kind", client).invoke("x"))
        raised_by(openai.PermissionDeniedError, lambda: chat("denied", client).invoke("x"))
        raised_by(openai.RateLimitError, ask("limited"))
        same(raised_by(openai.InternalServerError, ask("busy")).status_code, 503)
        same(raised_by(openai.InternalServerError, ask("down")).status_code, 502)
        same(raised_by(openai.BadRequestError, ask("filter")).code, "content_filter")
        overflow = raised_by(openai.BadRequestError, ask("context"))
        same(overflow.code, "context_length_exceeded")
        # A provider's own words go on as they are; ours are told so that it knows them.
        if dialect != ("responses" if client else "chat"):
            assert isinstance(overflow, ContextOverflowError), overflow
        raised_by(openai.APIError, lambda: list(chat(f"breaks-{dialect}", client).stream("x")))


def works_without_blocking():
    async def work():
        for client, dialect in PAIRS:
            answer = await chat(f"echo-{dialect}", client).ainvoke(HELLO)
            same(answer.text, HELLO)
            chunks = [chunk async for chunk in chat(f"parallel-{dialect}", client).bind_tools(list(TOOLS.values())).astream(HELLO)]
            same([call["name"] for call in whole(chunks).tool_calls], list(TOOLS))

    asyncio.run(work())


run(
    f"langchain-openai {version('langchain-openai')}",
    (
        chats,
        streams_with_and_without_usage,
        runs_two_tools_at_once,
        thinks_before_a_call,
        answers_to_a_schema,
        shows_pictures_inline_and_by_address,
        tells_log_probabilities,
        embeds,
        raises_its_own_errors,
        works_without_blocking,
    ),
)
