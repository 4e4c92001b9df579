"""Instructor, in its modes for OpenAI's APIs, on deployments of every dialect. Prints one line a check."""

import asyncio
import logging
from collections.abc import Iterable
from importlib.metadata import version

import instructor
import openai
from checks import DIALECTS, KEY, PIXEL, SEEN, STRANGER, URL, heard_in, raised_by, run, same
from instructor import Mode
from instructor.core.exceptions import IncompleteOutputException, InstructorRetryException
from pydantic import BaseModel

# It logs what is raised, and raises it too.
logging.getLogger("instructor").setLevel(logging.CRITICAL)
HELLO = [{"role": "user", "content": "hello there"}]
MODES = (Mode.TOOLS, Mode.TOOLS_STRICT, Mode.JSON_SCHEMA, Mode.RESPONSES_TOOLS)
PAIRS = [(mode, dialect) for mode in MODES for dialect in DIALECTS]


class Weather(BaseModel):
    """The weather of a city"""

    city: str
    degrees: int


class Time(BaseModel):
    """The time in a city"""

    city: str


SAMPLE = {"city": "sample", "degrees": 0}


def client(mode, key=KEY):
    return instructor.from_openai(openai.OpenAI(base_url=URL + "/v1", api_key=key, max_retries=0), mode=mode)


def answers_with_a_model_and_usage():
    for mode, dialect in PAIRS:
        asked = {"model": f"echo-{dialect}", "messages": HELLO, "response_model": Weather}
        same(client(mode).create(**asked).model_dump(), SAMPLE)
        got, raw = client(mode).create_with_completion(**asked)
        same(got.model_dump(), SAMPLE)
        assert raw.usage.total_tokens > 0, raw
    provider = instructor.from_provider("openai/echo-chat", base_url=URL + "/v1", api_key=KEY)
    same(provider.create(messages=HELLO, response_model=Weather).model_dump(), SAMPLE)


def streams_what_is_there_so_far():
    for mode, dialect in PAIRS:
        partials = list(
            client(mode).create_partial(model=f"echo-{dialect}", messages=HELLO, response_model=Weather)
        )
        # Google sends the arguments of a call in one piece.
        whole = dialect == "generate" and mode != Mode.JSON_SCHEMA
        assert len(partials) > (0 if whole else 2), partials
        same(partials[-1].model_dump(), SAMPLE)


def streams_items_one_by_one():
    wanted = [Weather(city="Oslo", degrees=12), Weather(city="Rome", degrees=20)]
    for mode, dialect in PAIRS:
        items = client(mode).create_iterable(model=f"list-{dialect}", messages=HELLO, response_model=Weather)
        same(list(items), wanted)


def calls_two_tools_at_once():
    for dialect in DIALECTS:
        parallel = client(Mode.PARALLEL_TOOLS)
        calls = parallel.create(model=f"parallel-{dialect}", messages=HELLO, response_model=Iterable[Weather | Time])
        same([(type(call), call.model_dump()) for call in calls], [(Weather, SAMPLE), (Time, {"city": "sample"})])


def asks_again_where_it_does_not_fit():
    for mode, model in ((Mode.TOOLS, "miscalls"), (Mode.JSON_SCHEMA, "babbles")):
        for dialect in DIALECTS:
            wrong, again = [], client(mode)
            again.on("parse:error", lambda *said, wrong=wrong, **_: wrong.append(said))
            asked = {"model": f"{model}-{dialect}", "messages": HELLO, "response_model": Weather}
            same(again.create(**asked, max_retries=2).model_dump(), SAMPLE)
            same(len(wrong), 1)


def shows_pictures_inline_and_by_address():
    images = [f"data:image/png;base64,{PIXEL}", "https://example.com/a.png"]
    content = [{"type": "text", "text": "look"}, *[{"type": "image_url", "image_url": {"url": url}} for url in images]]
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": content}]
    for dialect in DIALECTS:
        answer = client(Mode.TOOLS).create(
            model=f"mirror-{dialect}", messages=messages, response_model=None, temperature=0.5
        )
        same(heard_in(answer.choices[0].message.content), {**SEEN, "system": "be brief", "temperature": 0.5})


def raises_what_the_sdk_raises():
    def cause(key=KEY, mode=Mode.TOOLS, **asked):
        call = {"messages": HELLO, "response_model": Weather, "max_retries": 0, **asked}
        return raised_by(InstructorRetryException, lambda: client(mode, key).create(**call)).__cause__

    same(type(cause(STRANGER, model="echo-chat")), openai.AuthenticationError)
    same(type(cause(model="nothing-of-the-kind")), openai.NotFoundError)
    same(type(cause(model="denied")), openai.PermissionDeniedError)
    for mode, dialect in PAIRS:
        same(type(cause(mode=mode, model=f"limited-{dialect}")), openai.RateLimitError)
        same(type(cause(mode=mode, model=f"down-{dialect}")), openai.InternalServerError)
        refused = cause(mode=mode, model=f"filter-{dialect}")
        same((type(refused), refused.code), (openai.BadRequestError, "content_filter"))


def knows_an_answer_that_is_cut_off():
    for mode in (Mode.TOOLS, Mode.JSON_SCHEMA):
        for dialect in DIALECTS:
            asked = {"model": f"cutoff-{dialect}", "messages": HELLO, "response_model": Weather}
            raised_by(IncompleteOutputException, lambda: client(mode).create(**asked))


def works_without_blocking():
    async def work():
        for mode, dialect in PAIRS:
            sdk = openai.AsyncOpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
            asked = {"model": f"echo-{dialect}", "messages": HELLO, "response_model": Weather}
            same((await instructor.from_openai(sdk, mode=mode).create(**asked)).model_dump(), SAMPLE)
            partials = [one async for one in instructor.from_openai(sdk, mode=mode).create_partial(**asked)]
            same(partials[-1].model_dump(), SAMPLE)

    asyncio.run(work())


run(
    f"instructor {version('instructor')}",
    (
        answers_with_a_model_and_usage,
        streams_what_is_there_so_far,
        streams_items_one_by_one,
        calls_two_tools_at_once,
        asks_again_where_it_does_not_fit,
        shows_pictures_inline_and_by_address,
        raises_what_the_sdk_raises,
        knows_an_answer_that_is_cut_off,
        works_without_blocking,
    ),
)
