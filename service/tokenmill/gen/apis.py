"""The page of the APIs that the front speaks: what each field of a request does."""

from collections.abc import Iterator

import msgspec

from tokenmill.apis import APIS, Api, Field
from tokenmill.gen import markdown


def page() -> str:
    """Every field of every API."""
    tables = (block for api in APIS for block in _api(api))
    return markdown.page("APIs", *(text.strip() for text in ABOUT), *tables, *(text.strip() for text in TOLD))


def _api(api: Api) -> Iterator[str]:
    yield f"## {api.title}"
    yield f"`POST {api.path}`. {api.fields.about}"
    yield markdown.table(("field", "does", ""), [_row(row) for row in api.fields.rows])


def _row(row: Field) -> tuple[str, str, str]:
    accepted = ", ".join(markdown.code(_literal(value)) for value in row.accepts)
    taken = f" Taken, as it asks for nothing: {accepted}." if accepted else ""
    return markdown.code(row.name), row.does, row.text + taken


def _literal(value: object) -> str:
    """A value as JSON writes it."""
    return msgspec.json.encode(value).decode()


TOLD = (
    """
## What a model's server is told

Its [`kind`](configuration.md#upstreams) decides how some of it is said. The length of an answer counts its reasoning.
Not to think is what the effort `none` asks for, and `disabled` of Messages.
""",
    """
| kind | how long | not to think | an effort | a shape |
| --- | --- | --- | --- | --- |
| `vllm`, `sglang` | `max_tokens` | its template, see below | `reasoning_effort` | `response_format` |
| `completions` | `max_tokens` | its template | its template | `response_format` |
| `llama.cpp` | `n_predict` | its template | its template | `json_schema` |
| `ollama` | `num_predict` | `think: false` | refused | `format` |
| `openai` | see below | the effort, if the client says it | `reasoning_effort` | `response_format` |
| `anthropic` | `max_tokens`, or 4096 | Messages as they are | `output_config.effort` | `output_config.format` |
""",
    """
To `anthropic` the effort `minimal` is `low`, and a shape that is `json_object` is refused.
""",
    """
Of `openai` the length is `max_completion_tokens` at the addresses of OpenAI and Azure, whose newer models refuse the
other name, and `max_tokens` elsewhere, as some servers pass over the newer one; `length_field` says otherwise. It is
told nothing of `disabled`, as there is no word for it that all such servers take.
""",
    """
What was thought in earlier turns goes to `openai` as the client says it, which is `reasoning_content` where it came by
Responses or Messages: DeepSeek, Kimi and others want it back within a loop of tools. OpenAI, Azure, Groq, Mistral and
Cerebras refuse such turns, so at their addresses it is left out. `reasoning_field` names it otherwise. `vllm` is told
by both names, `reasoning` and `reasoning_content`, `sglang` and `llama.cpp` by `reasoning_content`. `anthropic` gets
what is signed: the thinking of Messages, or the reasoning of Responses with its `encrypted_content`.
""",
    """
At the addresses of OpenAI, Azure, Groq, Mistral and Cerebras a tool's answer is text: its images follow in a message of
the user, behind all answers of that turn. `anthropic` gets ids of calls that it takes, the header `anthropic-beta` of a
request to `/v1/messages`, and nothing of `user`, `prompt_cache_key`, `safety_identifier` and `verbosity`.
""",
    """
A template is told not to think by its variables `enable_thinking` and `thinking`, both false; what a client says in
`chat_template_kwargs` counts. A model whose prompt opens the reasoning (`open = { start = "reasoning" }`, or the
format's own habit) is told nothing: if its prompt did not open it, its text would be taken for reasoning.
""",
    """
Servers that render the prompt get one message of the system, at its beginning: what `system` and `developer` messages
say there, in their order. Later ones are the user's, in their place, as many templates refuse another message of the
system, or leave it out. The message is the developer's where there is one and the format is `harmony`, or a
`template_file` knows the role. `openai` gets all of them as they are.
""",
    """
Raw text, of all kinds but the last two, is held to a shape from its first token on: servers leave room for reasoning
and calls only where their own parsers read the text. So the model is told not to think, and refused beside it, by
their names, are tools that may be called, an effort other than `none`, and models whose prompt opens the reasoning. A
call that has to come (`required`, or a tool by its name) is no text: there the shape is left out.
""",
)

ABOUT = (
    """
The front speaks three APIs. What a request asks for is read into one shape, whichever it came by, and checked before
anything is asked of a model: a refusal has the status 400, the error object of its API, and the place of what is wrong.
""",
    """
| does | meaning |
| --- | --- |
| used | it changes the answer |
| forwarded | it is passed on as it is to servers that speak the same API, and they decide |
| noted | it is taken and has no effect, because it means nothing here; the reason is beside it |
| refused | it is refused by its name, and the reason says what to do instead |
""",
    """
A field that is null is as good as absent. Types are as strict as JSON's. Images are passed on as addresses (`https://`,
`http://`) or data (`data:image/…`); files, sound and documents are refused where they stand, as are tools that a server
would have to run.
""",
    """
| method | address | what it does |
| --- | --- | --- |
| POST | `/v1/chat/completions`, `/v1/responses`, `/v1/messages` | Ask |
| GET | `/v1/responses/{id}` | As it is now, first `queued`; with `?stream=true` its events after `starting_after` |
| POST | `/v1/responses/{id}/cancel` | Stop it |
| GET | `/v1/models`, `/v1/models/{model}` | As OpenAI lists models; as Anthropic, where `anthropic-version` is sent |
""",
    """
Other addresses of these APIs are not served. No tokens are counted beforehand (`/v1/messages/count_tokens`,
`/v1/responses/input_tokens`): a prompt is known when its server has rendered it. Nothing sums a conversation up
(`/v1/responses/compact`), and an answer is deleted with the records of its topic.
A response that began later than `front.answer_s` allows, because all callers were away, is still found by its id, among
the next 20,000 records of its partition.
""",
    """
A response repeats little of its request: `background`, `store`, `temperature`, `tools`, `metadata` and the like are in
it, as readers of the shape want them, but with the values of a request that says none of them.
""",
)
