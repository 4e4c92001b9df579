"""Google's official SDK for Python on deployments of every dialect. Prints one line a check; exits 1 when one fails."""

from checks import DIALECTS, KEY, STRANGER, URL, raised_by, run, same
from google import genai
from google.genai import errors, types

client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=URL))
TOOLS = [
    types.Tool(
        function_declarations=[
            types.FunctionDeclaration(
                name="get_weather",
                description="The weather of a city",
                parameters=types.Schema(
                    type="OBJECT", properties={"city": types.Schema(type="STRING")}, required=["city"]
                ),
            )
        ]
    )
]
CONFIG = types.GenerateContentConfig(
    tools=TOOLS, automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True)
)


def generate(model, contents="hello there", config=None):
    return client.models.generate_content(model=model, contents=contents, config=config)


def result(call):
    return types.Part(
        function_response=types.FunctionResponse(id=call.id, name=call.name, response={"output": "12 degrees"})
    )


def chats():
    for dialect in DIALECTS:
        answer = generate(f"echo-{dialect}", config=types.GenerateContentConfig(system_instruction="be brief"))
        same((answer.text, answer.candidates[0].finish_reason), ("hello there", types.FinishReason.STOP))
        assert answer.usage_metadata.total_token_count > 0, answer.usage_metadata


def streams():
    for dialect in DIALECTS:
        chunks = list(client.models.generate_content_stream(model=f"echo-{dialect}", contents="hello there"))
        same("".join(chunk.text or "" for chunk in chunks), "hello there")
        same(chunks[-1].candidates[0].finish_reason, types.FinishReason.STOP)
        assert chunks[-1].usage_metadata.total_token_count > 0, chunks[-1]


def calls_a_tool_and_reads_its_result():
    for dialect in DIALECTS:
        first = generate(f"tool-{dialect}", config=CONFIG)
        same([call.args for call in first.function_calls], [{"city": "sample"}])
        contents = [
            types.Content(role="user", parts=[types.Part(text="hello there")]),
            first.candidates[0].content,
            types.Content(role="user", parts=[result(call) for call in first.function_calls]),
        ]
        same(generate(f"tool-{dialect}", contents, CONFIG).text, "12 degrees")


def gives_thoughts_back_in_a_chat():
    thinking = CONFIG.model_copy(
        update={
            "thinking_config": types.ThinkingConfig(include_thoughts=True, thinking_budget=2000),
            "max_output_tokens": 8000,
        }
    )
    for dialect in DIALECTS:
        chat = client.chats.create(model=f"tool-{dialect}", config=thinking)
        calls = [call for chunk in chat.send_message_stream("hello") for call in chunk.function_calls or []]
        same([call.name for call in calls], ["get_weather"])
        same(chat.send_message([result(call) for call in calls]).text, "12 degrees")


def counts_tokens():
    for dialect in DIALECTS:
        assert client.models.count_tokens(model=f"echo-{dialect}", contents="hello there").total_tokens > 0


def embeds():
    # Bare texts would be parts of one content to it.
    contents = [types.Content(parts=[types.Part(text=text)]) for text in ("one", "two")]
    for model in ("embed-openai", "embed-gemini"):
        answer = client.models.embed_content(
            model=model, contents=contents, config=types.EmbedContentConfig(output_dimensionality=8)
        )
        same([len(embedding.values) for embedding in answer.embeddings], [8, 8])


def lists_models():
    assert "models/echo-chat" in [model.name for model in client.models.list(config={"page_size": 5})]


def raises_its_own_errors():
    same(raised_by(errors.ClientError, lambda: generate("nothing-of-the-kind")).status, "NOT_FOUND")
    same(raised_by(errors.ClientError, lambda: generate("denied")).status, "PERMISSION_DENIED")
    stranger = genai.Client(api_key=STRANGER, http_options=types.HttpOptions(base_url=URL))
    refused = raised_by(errors.ClientError, lambda: stranger.models.generate_content(model="echo-chat", contents="x"))
    same((refused.code, refused.status), (401, "UNAUTHENTICATED"))
    for dialect in DIALECTS:
        same(raised_by(errors.ClientError, lambda: generate(f"limited-{dialect}")).status, "RESOURCE_EXHAUSTED")
        same(raised_by(errors.ServerError, lambda: generate(f"busy-{dialect}")).code, 503)
        same(raised_by(errors.ServerError, lambda: generate(f"down-{dialect}")).code, 502)
        same(raised_by(errors.ClientError, lambda: generate(f"context-{dialect}")).code, 400)


def raises_what_breaks_a_stream():
    for dialect in DIALECTS:
        stream = client.models.generate_content_stream(model=f"breaks-{dialect}", contents="hello there")
        raised_by(errors.APIError, lambda: list(stream))


run(
    f"google-genai {genai.__version__}",
    (
        chats,
        streams,
        calls_a_tool_and_reads_its_result,
        gives_thoughts_back_in_a_chat,
        counts_tokens,
        embeds,
        lists_models,
        raises_its_own_errors,
        raises_what_breaks_a_stream,
    ),
)
