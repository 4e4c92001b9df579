"""The official OpenAI SDK for Python, Chat Completions, on deployments of every dialect. Prints one line a check."""

import asyncio
import json

import openai
from checks import DIALECTS, KEY, PIXEL, SEEN, STRANGER, URL, heard_in, raised_by, run, same
from pydantic import BaseModel

client = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
HELLO = [{"role": "user", "content": "hello there"}]
NAMES = ["get_weather", "get_time"]
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": CITY, "strict": True}} for name in NAMES]


class Weather(BaseModel):
    city: str
    degrees: int


def create(model, messages=HELLO, **more):
    return client.chat.completions.create(model=model, messages=messages, **more)


def streamed(model, **more):
    """What the SDK's helper makes of a stream."""
    with client.chat.completions.stream(model=model, messages=HELLO, **more) as stream:
        return stream.get_final_completion()


def chats():
    for dialect in DIALECTS:
        answer = create(f"echo-{dialect}", [{"role": "developer", "content": "be brief"}, *HELLO])
        same((answer.choices[0].message.content, answer.choices[0].finish_reason), ("hello there", "stop"))
        same(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)
        same(create(f"cutoff-{dialect}").choices[0].finish_reason, "length")
        same(create(f"filtered-{dialect}").choices[0].finish_reason, "content_filter")


def streams_with_and_without_usage():
    for dialect in DIALECTS:
        for options, wanted in (({"stream_options": {"include_usage": True}}, 1), ({}, 0)):
            chunks = list(create(f"echo-{dialect}", stream=True, **options))
            deltas = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
            same([delta for delta in deltas if delta], ["hello ", "there"])
            counted = [chunk for chunk in chunks if chunk.usage is not None]
            same((len(counted), len([chunk for chunk in chunks if not chunk.choices])), (wanted, wanted))
            assert all(chunk.usage.total_tokens > 0 for chunk in counted), counted


def runs_two_tools_at_once():
    for dialect in DIALECTS:
        for ask in (create, streamed):
            first = ask(f"parallel-{dialect}", tools=TOOLS)
            message = first.choices[0].message
            same(first.choices[0].finish_reason, "tool_calls")
            calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls]
            same(calls, [(name, {"city": "sample"}) for name in NAMES])
            results = [
                {"role": "tool", "tool_call_id": call.id, "content": said}
                for call, said in zip(message.tool_calls, ("12 degrees", "noon"), strict=True)
            ]
            second = create(f"parallel-{dialect}", [*HELLO, message, *results], tools=TOOLS)
            same(second.choices[0].message.content, "noon")
        # Google cannot be told.
        if dialect == "generate":
            continue
        one = create(f"parallel-{dialect}", tools=TOOLS, parallel_tool_calls=False)
        same(len(one.choices[0].message.tool_calls), 1)


def answers_to_a_schema():
    for dialect in DIALECTS:
        asked = {"model": f"echo-{dialect}", "messages": HELLO, "response_format": Weather}
        same(client.chat.completions.parse(**asked).choices[0].message.parsed, Weather(city="sample", degrees=0))
        got = streamed(f"echo-{dialect}", response_format=Weather).choices[0].message.parsed
        same(got, Weather(city="sample", degrees=0))


def shows_pictures_inline_and_by_address():
    images = [f"data:image/png;base64,{PIXEL}", "https://example.com/a.png"]
    content = [{"type": "text", "text": "look"}, *[{"type": "image_url", "image_url": {"url": url}} for url in images]]
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": content}]
    for dialect in DIALECTS:
        answer = create(f"mirror-{dialect}", messages, temperature=0.5)
        same(heard_in(answer.choices[0].message.content), {**SEEN, "system": "be brief", "temperature": 0.5})


def tells_log_probabilities():
    wanted = [("hello ", 2), ("there", 2)]
    for dialect in ("chat", "responses"):
        asked = {"logprobs": True, "top_logprobs": 2}
        whole = create(f"echo-{dialect}", **asked).choices[0].logprobs.content
        same([(token.token, len(token.top_logprobs)) for token in whole], wanted)
        choices = [choice for chunk in create(f"echo-{dialect}", stream=True, **asked) for choice in chunk.choices]
        pieces = [token for choice in choices if choice.logprobs for token in choice.logprobs.content]
        same([(token.token, len(token.top_logprobs)) for token in pieces], wanted)
    refused = raised_by(openai.BadRequestError, lambda: create("echo-messages", logprobs=True))
    same((refused.code, refused.param), ("unsupported_feature", "logprobs"))


def answers_twice():
    for dialect in ("chat", "generate"):
        whole = create(f"echo-{dialect}", n=2).choices
        same([(choice.index, choice.message.content) for choice in whole], [(0, "hello there"), (1, "hello there")])
        texts = {0: "", 1: ""}
        for chunk in create(f"echo-{dialect}", n=2, stream=True):
            for choice in chunk.choices:
                texts[choice.index] += choice.delta.content or ""
        same(texts, {0: "hello there", 1: "hello there"})
    for dialect in ("responses", "messages"):
        refused = raised_by(openai.BadRequestError, lambda: create(f"echo-{dialect}", n=2))
        same((refused.code, refused.param), ("unsupported_feature", "n"))


def shows_reasoning():
    # OpenAI's Responses API and Google show none to whom asks for none.
    for dialect in ("chat", "messages"):
        asked = {"reasoning_effort": "low"}
        whole = create(f"reason-{dialect}", **asked)
        same(len(whole.choices[0].message.reasoning_content.split()), 20)
        same(whole.usage.completion_tokens_details.reasoning_tokens, 20)
        choices = [choice for chunk in create(f"reason-{dialect}", stream=True, **asked) for choice in chunk.choices]
        thought = "".join(getattr(choice.delta, "reasoning_content", None) or "" for choice in choices)
        same(len(thought.split()), 20)
        same("".join(choice.delta.content or "" for choice in choices), "hello there")


def embeds():
    # The SDK asks for base64 by itself and decodes it.
    answer = client.embeddings.create(model="default", input=["one", "two"])
    assert len(answer.data) == 2 and len(answer.data[0].embedding) > 10


def lists_models():
    assert "default" in [model.id for model in client.models.list()]


def raises_its_own_errors():
    raised_by(openai.NotFoundError, lambda: create("nothing-of-the-kind"))
    raised_by(openai.PermissionDeniedError, lambda: create("denied"))
    stranger = openai.OpenAI(base_url=URL + "/v1", api_key=STRANGER, max_retries=0)
    raised_by(openai.AuthenticationError, stranger.models.list)
    for dialect in DIALECTS:
        raised_by(openai.BadRequestError, lambda: create(f"echo-{dialect}", []))
        limited = raised_by(openai.RateLimitError, lambda: create(f"limited-{dialect}"))
        assert limited.request_id and limited.response.headers["retry-after"], limited.response.headers
        same(raised_by(openai.InternalServerError, lambda: create(f"busy-{dialect}")).status_code, 503)
        same(raised_by(openai.InternalServerError, lambda: create(f"down-{dialect}")).status_code, 502)
        same(raised_by(openai.BadRequestError, lambda: create(f"filter-{dialect}")).code, "content_filter")
        same(raised_by(openai.BadRequestError, lambda: create(f"context-{dialect}")).code, "context_length_exceeded")
        raised_by(openai.APIError, lambda: list(create(f"breaks-{dialect}", stream=True)))


def works_without_blocking():
    async def work():
        patient = openai.AsyncOpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
        for dialect in DIALECTS:
            asked = {"model": f"echo-{dialect}", "messages": HELLO}
            same((await patient.chat.completions.create(**asked)).choices[0].message.content, "hello there")
            chunks = [chunk async for chunk in await patient.chat.completions.create(**asked, stream=True)]
            same("".join(chunk.choices[0].delta.content or "" for chunk in chunks), "hello there")

    asyncio.run(work())


run(
    f"openai {openai.__version__}",
    (
        chats,
        streams_with_and_without_usage,
        runs_two_tools_at_once,
        answers_to_a_schema,
        shows_pictures_inline_and_by_address,
        tells_log_probabilities,
        answers_twice,
        shows_reasoning,
        embeds,
        lists_models,
        raises_its_own_errors,
        works_without_blocking,
    ),
)
