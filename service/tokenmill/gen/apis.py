"""The page of the APIs that the front speaks: what each field of a request does."""

from collections.abc import Iterator

import msgspec

from tokenmill.apis import APIS, Api, Field
from tokenmill.gen import markdown


def page() -> str:
    """Return the page, with every field of every API."""
    tables = (block for api in APIS for block in _api(api))
    return markdown.page("APIs", *(text.strip() for text in ABOUT), *tables, *(text.strip() for text in TOLD))


def _api(api: Api) -> Iterator[str]:
    yield f"## {api.title}"
    yield f"`POST {api.path}`. {api.fields.about}"
    yield markdown.table(("field", "does", ""), [_row(row) for row in api.fields.rows])


def _row(row: Field) -> tuple[str, str, str]:
    accepted = ", ".join(markdown.code(_literal(value)) for value in row.accepts)
    taken = f" Accepted, as it changes nothing: {accepted}." if accepted else ""
    return markdown.code(row.name), row.does, row.text + taken


def _literal(value: object) -> str:
    """Return a value as JSON."""
    return msgspec.json.encode(value).decode()


TOLD = (
    """
## What a model's server is told

Its [`kind`](configuration.md#upstreams) decides the form. The length of an answer includes its reasoning. "Not to
think" is the effort `none`, or `disabled` in Messages.
""",
    """
| kind | how long | not to think | an effort | a shape |
| --- | --- | --- | --- | --- |
| `vllm`, `sglang` | `max_tokens` | its template, see below | `reasoning_effort` | `response_format` |
| `completions` | `max_tokens`, or its default | its template | its template | `response_format` |
| `llama.cpp` | `n_predict` | its template | its template | `json_schema` |
| `ollama` | `num_predict` | `think: false` | `think`, see below | `format` |
| `openai` | see below | the effort, if the client gives one | `reasoning_effort` | `response_format` |
| `anthropic` | `max_tokens`, or its default | Messages as they are | `output_config.effort` | `output_config.format` |
""",
    """
For `anthropic` the effort `minimal` becomes `low`, and the shape `json_object` is refused. For `ollama` an effort is
`low`, `medium` or `high`, whichever is nearest, and only gpt-oss (format `harmony`) gets one; a `template_file` gets it
as it is. If the client sets no length, `anthropic`, which requires one, and `completions`, whose servers would end an
answer after 16 tokens, get the upstream's `default_max_tokens`.
""",
    """
For `openai` the length is `max_completion_tokens` at the addresses of OpenAI and Azure, whose newer models refuse the
other name, and `max_tokens` elsewhere, as some servers ignore the newer one; `length_field` overrides this. `disabled`
is not sent, as no field for it works on all such servers.
""",
    """
The reasoning of earlier turns goes to `openai` in the client's field, or in `reasoning_content` if it came through
Responses or Messages: DeepSeek, Kimi and others want it back within a tool loop. OpenAI, Azure, Groq, Mistral and
Cerebras refuse such turns, so at their addresses it is left out. `reasoning_field` sets another name. `vllm` gets both
`reasoning` and `reasoning_content`, `sglang` and `llama.cpp` get `reasoning_content`. `anthropic` gets signed
reasoning: the thinking of Messages, or the reasoning of Responses with its `encrypted_content`.
""",
    """
At the addresses of OpenAI, Azure, Groq, Mistral and Cerebras a tool's answer is text: its images follow in a user
message, after all answers of that turn. `anthropic` gets call ids that it accepts and the header `anthropic-beta` of a
request to `/v1/messages`. `anthropic` and `ollama` get none of `user`, `prompt_cache_key`, `safety_identifier` and
`verbosity`.
""",
    """
A template is told not to think by its variables `enable_thinking` and `thinking`, both false; a client's
`chat_template_kwargs` override them. A model whose prompt opens the reasoning (`open = { start = "reasoning" }`, or the
format's default) is not told: if its prompt did not open the reasoning, its text would be taken for reasoning.
""",
    """
Servers that render the prompt get one system message, at the beginning, with the text of the `system` and `developer`
messages there, in order. Later ones become user messages in their place, as many templates refuse or drop another
system message. The role is `developer` if there is such a message and the format is `harmony`, or a `template_file` has
the role. An assistant's message is one text there, with the words of a refusal. `openai` gets the client's roles and
parts unchanged, but for system messages of Responses and Messages: those are joined and moved for it, too, except at
the addresses of OpenAI, Azure, Groq, Mistral and Cerebras, as open models stand behind many others. An empty content is
an empty string there.
""",
    """
A conversation that ends with a message of the assistant is refused in Messages, and by all kinds but the last two:
some servers would begin another answer, others continue that one. `vllm` and `sglang` continue it if the client of a
chat sets `continue_final_message`. Images are refused where the prompt is rendered from a `template_file`, and by
`llama.cpp`.
""",
    """
Raw text, from all kinds but the last two, is constrained to a shape from its first token: servers leave room for
reasoning and calls only if their own parsers read the text. So the model is told not to think, and a shape is refused,
by name, together with tools that may be called, an effort other than `none`, and models whose prompt opens the
reasoning. The effort of Messages is about all that a model writes, so it is left out there instead. A forced call
(`required`, or a named tool) is not text: there the shape is left out.
""",
)

ABOUT = (
    """
The front speaks three APIs. Requests of all three are read into one shape, and checked before any model is asked: a
refusal has the status 400, the error object of its API, and the place of the problem.
""",
    """
| does | meaning |
| --- | --- |
| used | it changes the answer |
| forwarded | it is passed on unchanged to servers that speak the same API, and they decide |
| noted | it is accepted and has no effect, for the reason given |
| refused | it is refused by name, and the message names an alternative |
""",
    """
A null field counts as absent. Types are as strict as JSON's. Images are passed on as addresses (`https://`, `http://`)
or data (`data:image/…`); files, sound and documents are refused, and so are tools that a server would have to run.

To the model a tool that takes a text (`custom`) is a function with the one argument `input`, in every format and at
every kind of server. A client gets its calls as custom ones, each in one piece once it is complete. If the model wrote
other arguments, the text is all of them as JSON. A grammar is part of the description that the model reads; nothing
makes it keep to that.
""",
    """
| method | address | what it does |
| --- | --- | --- |
| POST | `/v1/chat/completions`, `/v1/responses`, `/v1/messages` | Ask |
| GET | `/v1/responses/{id}` | Its state, at first `queued`; with `?stream=true` its events after `starting_after` |
| POST | `/v1/responses/{id}/cancel` | Stop it |
| GET | `/v1/models`, `/v1/models/{model}` | OpenAI's list of models; Anthropic's if `anthropic-version` is sent |
""",
    """
Other addresses of these APIs are not served. Tokens can't be counted beforehand (`/v1/messages/count_tokens`,
`/v1/responses/input_tokens`), as the prompt is known only when its server has rendered it. Conversations are not
summarized (`/v1/responses/compact`), and an answer is deleted with the records of its topic: `DELETE` is refused (405).
A response that began later than `front.answer_s` allows, because no caller was running, is still found by its id, among
the next 20,000 records of its partition.
""",
    """
A response repeats little of its request: `background`, `store`, `temperature`, `tools`, `metadata` and the like are in
it, because readers of the shape require them, but with the values of a request without them.
""",
)
