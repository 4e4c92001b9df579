"""The official Anthropic SDK for Python on deployments of every dialect. Prints one line a check; exits 1 when one fails."""

import anthropic
from checks import DIALECTS, KEY, STRANGER, URL, raised_by, run, same

client = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
HELLO = [{"role": "user", "content": "hello there"}]
TOOL = {
    "name": "get_weather",
    "description": "The weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def create(model, messages=HELLO, **more):
    return client.messages.create(model=model, max_tokens=1000, messages=messages, **more)


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def answered(message, result):
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": result}
        for block in message.content
        if block.type == "tool_use"
    ]
    return [*HELLO, {"role": "assistant", "content": message.content}, {"role": "user", "content": results}]


def chats():
    for dialect in DIALECTS:
        answer = create(f"echo-{dialect}", system="be brief")
        same((text_of(answer), answer.stop_reason), ("hello there", "end_turn"))
        assert answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0, answer.usage


def streams():
    for dialect in DIALECTS:
        with client.messages.stream(model=f"echo-{dialect}", max_tokens=1000, messages=HELLO) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        same((text, text_of(final), final.stop_reason), ("hello there", "hello there", "end_turn"))
        assert final.usage.output_tokens > 0, final.usage


def calls_a_tool_and_reads_its_result():
    for dialect in DIALECTS:
        first = create(f"tool-{dialect}", tools=[TOOL])
        same(first.stop_reason, "tool_use")
        same([block.input for block in first.content if block.type == "tool_use"], [{"city": "sample"}])
        second = create(f"tool-{dialect}", answered(first, "12 degrees"), tools=[TOOL])
        same(text_of(second), "12 degrees")


def gives_thoughts_back():
    thinking = {"type": "enabled", "budget_tokens": 2000}
    for dialect in DIALECTS:
        with client.messages.stream(
            model=f"tool-{dialect}", max_tokens=4000, messages=HELLO, tools=[TOOL], thinking=thinking
        ) as stream:
            first = stream.get_final_message()
        second = client.messages.create(
            model=f"tool-{dialect}",
            max_tokens=4000,
            messages=answered(first, "12 degrees"),
            tools=[TOOL],
            thinking=thinking,
        )
        same(text_of(second), "12 degrees")


def counts_tokens():
    for dialect in DIALECTS:
        assert client.messages.count_tokens(model=f"echo-{dialect}", messages=HELLO).input_tokens > 0


def lists_models():
    assert "echo-chat" in [model.id for model in client.models.list(limit=5)]


def raises_its_own_errors():
    raised_by(anthropic.NotFoundError, lambda: create("nothing-of-the-kind"))
    raised_by(anthropic.PermissionDeniedError, lambda: create("denied"))
    stranger = anthropic.Anthropic(base_url=URL, api_key=STRANGER, max_retries=0)
    raised_by(anthropic.AuthenticationError, lambda: stranger.models.list())
    for dialect in DIALECTS:
        raised_by(anthropic.BadRequestError, lambda: create(f"echo-{dialect}", extra_body={"top_k": "few"}))
        limited = raised_by(anthropic.RateLimitError, lambda: create(f"limited-{dialect}"))
        # 7 seconds, less those since it was last asked.
        assert 0 < int(limited.response.headers["retry-after"]) <= 7, limited.response.headers
        assert limited.request_id, "no request id"
        same(raised_by(anthropic.APIStatusError, lambda: create(f"busy-{dialect}")).status_code, 529)
        raised_by(anthropic.InternalServerError, lambda: create(f"down-{dialect}"))
        overflow = raised_by(anthropic.BadRequestError, lambda: create(f"context-{dialect}"))
        assert "prompt is too long" in str(overflow), overflow


def raises_what_breaks_a_stream():
    for dialect in DIALECTS:

        def read():
            with client.messages.stream(model=f"breaks-{dialect}", max_tokens=1000, messages=HELLO) as stream:
                stream.until_done()

        raised_by(anthropic.APIError, read)


run(
    f"anthropic {anthropic.__version__}",
    (
        chats,
        streams,
        calls_a_tool_and_reads_its_result,
        gives_thoughts_back,
        counts_tokens,
        lists_models,
        raises_its_own_errors,
        raises_what_breaks_a_stream,
    ),
)
