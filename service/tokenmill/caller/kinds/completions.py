"""Any server with OpenAI's completions API: the prompt is rendered here, by the model's own chat template."""

from tokenmill.caller.kinds.kind import Call, Kind, Plan, sampling


class Completions(Kind):
    """A streamed completion of a prompt."""

    name = "completions"
    summary = "`/v1/completions` with a prompt that `template_file` renders here"

    def call(self, plan: Plan) -> Call:
        """Return the completion, without skipping special tokens: servers that don't know these fields ignore them."""
        forwarded = {name: value for name, value in plan.ask.forwarded.items() if name != "chat_template_kwargs"}
        body = {
            **forwarded,
            "model": plan.model,
            "prompt": f"{plan.prompt}{plan.begins}",
            "max_tokens": plan.upstream.default_max_tokens,
            **sampling(plan.ask),
            **({"n": plan.ask.n} if plan.ask.n > 1 else {}),
            "skip_special_tokens": False,
            "spaces_between_special_tokens": False,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        return Call("/v1/completions", body, "sse+openai")


COMPLETIONS = Completions()
