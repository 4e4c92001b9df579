"""The official OpenAI SDK for Python against a running gateway. Prints one line a check; exits 1 when one fails."""

import json
import os
import sys

import openai

client = openai.OpenAI(
    base_url=os.environ["SLUICEGATE_URL"] + "/v1", api_key=os.environ["SLUICEGATE_KEY"], max_retries=0
)
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
MESSAGES = [{"role": "user", "content": "hello there"}]


def chats():
    answer = client.chat.completions.create(model="default", messages=MESSAGES)
    assert answer.choices[0].message.content == "hello there", answer
    assert answer.usage.total_tokens > 0


def streams_with_usage():
    text, usage = "", None
    for chunk in client.chat.completions.create(
        model="default", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
    ):
        usage = chunk.usage or usage
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
    assert text == "hello there", text
    assert usage.total_tokens > 0


def streams_a_tool_call():
    with client.chat.completions.stream(model="sim/tool", messages=MESSAGES, tools=[TOOL]) as stream:
        for _ in stream:
            pass
        call = stream.get_final_completion().choices[0].message.tool_calls[0]
    assert call.function.name == "get_weather"
    assert "city" in json.loads(call.function.arguments)


def embeds():
    # The SDK asks for base64 by itself and decodes it.
    answer = client.embeddings.create(model="default", input=["one", "two"])
    assert len(answer.data) == 2 and len(answer.data[0].embedding) > 10


def lists_models():
    assert "default" in [model.id for model in client.models.list()]


def raises(error, **request):
    try:
        client.chat.completions.create(**{"messages": MESSAGES, **request})
    except error as raised:
        assert raised.request_id, "no request id"
        return
    raise AssertionError(f"{error.__name__} was not raised")


def raises_its_own_errors():
    raises(openai.NotFoundError, model="nothing-of-the-kind")
    raises(openai.BadRequestError, model="default", messages=[])
    raises(openai.RateLimitError, model="sim/error?status=429")
    raises(openai.InternalServerError, model="sim/error?status=500")
    stranger = openai.OpenAI(base_url=os.environ["SLUICEGATE_URL"] + "/v1", api_key="sg_nobody_0", max_retries=0)
    try:
        stranger.models.list()
    except openai.AuthenticationError:
        return
    raise AssertionError("a stranger was let in")


failed = 0
for check in (chats, streams_with_usage, streams_a_tool_call, embeds, lists_models, raises_its_own_errors):
    try:
        check()
        print(f"ok      python openai {openai.__version__}: {check.__name__}")
    except Exception as error:  # every check is to be reported, whatever it raises
        failed += 1
        print(f"FAILED  python openai {openai.__version__}: {check.__name__}: {error!r}")
sys.exit(1 if failed else 0)
