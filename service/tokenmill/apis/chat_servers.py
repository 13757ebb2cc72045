"""Fields of model servers' own that are refused in chat completions, where other unknown ones are passed on.

They would put into an answer what no client's API has a place for, or leave out what is read of it; or they name
places that a server is to connect to, ids that others stop it by, or prompts that nobody has read. They stand in the
APIs of vLLM, SGLang and llama.cpp, and in OpenAI's completions, which the kind `completions` asks.
"""

from tokenmill.apis.api import Field

TEXT = "an answer is what the model writes, and nothing else."
PROBABILITIES = "events carry no probabilities."
NUMBERS = "events carry no numbers of tokens."
ONE_PROMPT = "the prompt is made of `messages`."
SEVERAL = "ask for several answers by `n`."
ITS_OWN = "servers know each other by their own settings."

SERVERS_OWN = (
    Field("echo", "refused", TEXT, accepts=(False,)),
    Field("suffix", "refused", TEXT, accepts=("",)),
    Field("response_fields", "refused", "all of an answer is read.", accepts=([],)),
    Field("prompt", "refused", ONE_PROMPT),
    Field("prompt_embeds", "refused", ONE_PROMPT),
    Field("input_ids", "refused", ONE_PROMPT),
    Field("best_of", "refused", SEVERAL, accepts=(1,)),
    Field("use_beam_search", "refused", "a search can't be streamed.", accepts=(False,)),
    Field("n_cmpl", "refused", SEVERAL, accepts=(1,)),
    Field("n_probs", "refused", PROBABILITIES, accepts=(0,)),
    Field("prompt_logprobs", "refused", PROBABILITIES),
    Field("logprob_token_ids", "refused", PROBABILITIES, accepts=([],)),
    Field("return_tokens", "refused", NUMBERS, accepts=(False,)),
    Field("return_token_ids", "refused", NUMBERS, accepts=(False,)),
    Field("return_tokens_as_token_ids", "refused", NUMBERS, accepts=(False,)),
    Field("return_hidden_states", "refused", "events carry no states.", accepts=(False,)),
    Field("return_routed_experts", "refused", "events carry no states.", accepts=(False,)),
    Field("request_id", "refused", "an id is the front's to give."),
    Field("rid", "refused", "an id is the front's to give."),
    Field("session_params", "refused", "send the whole conversation in `messages`."),
    Field("kv_transfer_params", "refused", ITS_OWN),
    Field("ec_transfer_params", "refused", ITS_OWN),
    Field("bootstrap_host", "refused", ITS_OWN),
    Field("bootstrap_port", "refused", ITS_OWN),
    Field("bootstrap_room", "refused", ITS_OWN),
)
