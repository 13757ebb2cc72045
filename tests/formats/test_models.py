"""Which format a model writes in, by its name."""

import pytest

from tokenmill.formats import FORMATS
from tokenmill.formats.models import suggest_format
from tokenmill.parser import Format

REPOSITORIES = {
    "swiss-ai/Apertus-8B-Instruct-2509": "apertus",
    "ServiceNow-AI/Apriel-1.5-15b-Thinker": "apriel",
    "CohereLabs/c4ai-command-r7b-12-2024": "cohere_action",
    "CohereLabs/command-a-reasoning-08-2025": "cohere_action",
    "CohereForAI/c4ai-command-r-plus-08-2024": "command_r_action",
    "deepseek-ai/DeepSeek-V3.2": "deepseek_dsml",
    "deepseek-ai/DeepSeek-V4-Flash": "deepseek_dsml",
    "deepseek-ai/DeepSeek-V3.2-Exp": "deepseek_v31",
    "deepseek-ai/DeepSeek-V3.1": "deepseek_v31",
    "deepseek-ai/DeepSeek-V3.1-Terminus": "deepseek_v31",
    "cognitivecomputations/DeepSeek-V3-0324-AWQ": "deepseek_v3",
    "deepseek-ai/DeepSeek-R1-0528": "deepseek_v3",
    "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B": "deepseek_v3",
    "unsloth/DeepSeek-R1-Distill-Llama-70B-GGUF": "deepseek_v3",
    "rednote-hilab/dots.llm1.inst": "dots",
    "baidu/ERNIE-4.5-21B-A3B-Thinking": "ernie45",
    "fireworks-ai/llama-3-firefunction-v2": "firefunction",
    "meetkai/functionary-small-v3.1": "functionary_v31",
    "meetkai/functionary-medium-v3.2": "functionary_v32",
    "google/functiongemma-270m-it": "functiongemma",
    "google/gemma-4-31B-it": "gemma4",
    "ai-sage/GigaChat3-10B-A1.8B": "gigachat3",
    "ai-sage/GigaChat3.1-702B-A36B": "gigachat3",
    "zai-org/GLM-4.6": "glm_kv",
    "zai-org/GLM-4.5-Air-FP8": "glm_kv",
    "zai-org/GLM-4.6V-Flash": "glm_kv",
    "mlx-community/GLM-5.1-4bit": "glm_kv",
    "ibm-granite/granite-3.3-8b-instruct": "granite",
    "ibm-granite/granite-20b-functioncalling": "granite20b_fc",
    "ibm-granite/granite-3.2-8b-instruct-preview": "granite_prose_think",
    "openai/gpt-oss-120b": "harmony",
    "lmstudio-community/gpt-oss-20b-GGUF": "harmony",
    "NousResearch/Hermes-3-Llama-3.1-8B": "hermes",
    "NousResearch/Hermes-2-Pro-Mistral-7B": "hermes",
    "Qwen/Qwen2.5-72B-Instruct": "hermes",
    "unsloth/Qwen2.5-7B-Instruct-bnb-4bit": "hermes",
    "Qwen/Qwen2.5-Coder-32B-Instruct-GPTQ-Int4": "hermes",
    "Qwen/QwQ-32B": "qwen3_json",
    "Qwen/Qwen3-30B-A3B-Thinking-2507-FP8": "qwen3_json",
    "bartowski/Qwen_Qwen3-8B-GGUF": "qwen3_json",
    "Qwen/Qwen3-Next-80B-A3B-Instruct": "qwen3_json",
    "ibm-granite/granite-4.0-h-small": "hermes",
    "XiaomiMiMo/MiMo-VL-7B-RL": "hermes",
    "XiaomiMiMo/MiMo-7B-RL": "hermes",
    "LGAI-EXAONE/K-EXAONE-236B-A23B": "hermes",
    "arcee-ai/Trinity-Mini": "qwen3_json",
    "HuggingFaceTB/SmolLM3-3B": "hermes",
    "tencent/Hunyuan-A13B-Instruct": "hunyuan_a13b",
    "internlm/internlm2_5-7b-chat": "internlm",
    "internlm/Intern-S1": "internlm",
    "ai21labs/AI21-Jamba-1.5-Mini": "jamba",
    "ai21labs/AI21-Jamba-Large-1.7": "jamba",
    "moonshotai/Kimi-K2-Instruct-0905": "kimi_k2",
    "moonshotai/Kimi-K2-Thinking": "kimi_k2",
    "moonshotai/Kimi-K2.5": "kimi_k2",
    "moonshotai/Kimi-K3": "kimi_k3",
    "moonshotai/Kimi-VL-A3B-Thinking-2506": "kimi_think",
    "LiquidAI/LFM2-1.2B-Tool": "lfm2",
    "LiquidAI/LFM2.5-1.2B-Instruct": "lfm2",
    "meta-llama/Llama-3.3-70B-Instruct": "llama3_json",
    "RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8": "llama3_json",
    "nvidia/Llama-3.1-Nemotron-70B-Instruct-HF": "llama3_json",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "llama4_pythonic",
    "meituan-longcat/LongCat-Flash-Chat": "longcat",
    "XiaomiMiMo/MiMo-V2-Flash": "mimo",
    "openbmb/MiniCPM5-8B": "minicpm5_xml",
    "MiniMaxAI/MiniMax-M2": "minimax_m2",
    "MiniMaxAI/MiniMax-M2.1": "minimax_m2",
    "MiniMaxAI/MiniMax-M3": "minimax_m3",
    "mistralai/Devstral-Small-2507": "mistral_args",
    "mistralai/Magistral-Small-2509": "mistral_args",
    "mistralai/Ministral-3-14B-Instruct-2512": "mistral_args",
    "mistralai/Voxtral-Small-24B-2507": "mistral_args",
    "mistralai/Mistral-Large-3-675B-Instruct-2512": "mistral_args",
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506": "mistral_callid",
    "mistralai/Mistral-7B-Instruct-v0.3": "mistral_json",
    "mistralai/Ministral-8B-Instruct-2410": "mistral_json",
    "mistralai/Mistral-Nemo-Instruct-2407": "mistral_json",
    "mistralai/Mistral-Large-Instruct-2411": "mistral_json",
    "mistralai/Mistral-Small-3.1-24B-Instruct-2503": "mistral_json",
    "mistralai/Mixtral-8x22B-Instruct-v0.1": "mistral_json",
    "nvidia/NVIDIA-Nemotron-Nano-9B-v2": "nemotron_toolcall_array",
    "nvidia/Llama-3_3-Nemotron-Super-49B-v1_5": "nemotron_toolcall_array",
    "allenai/Olmo-3-7B-Instruct": "olmo3",
    "allenai/Olmo-3.1-32B-Think": "olmo3",
    "microsoft/Phi-4-mini-instruct": "phi4mini",
    "pfnet/plamo-3-nict-8b-base": "plamo3",
    "pfnet/plamo-3.0-prime": "plamo3",
    "Team-ACE/ToolACE-2-Llama-3.1-8B": "pythonic",
    "watt-ai/watt-tool-8B": "pythonic",
    "Qwen/Qwen3-Coder-30B-A3B-Instruct": "qwen3_xml",
    "Qwen/Qwen3-Coder-Next-GGUF": "qwen3_xml",
    "Qwen/Qwen3.5-397B-A17B": "qwen3_xml",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "qwen3_xml",
    "stepfun-ai/Step-3.5-Flash": "qwen3_xml",
    "openbmb/MiniCPM-V-4_5": "qwen3_xml",
    "ByteDance-Seed/Seed-OSS-36B-Instruct": "seed_oss",
    "stepfun-ai/step3-fp8": "step3",
    "microsoft/Phi-4-mini-reasoning": "think",
    "Salesforce/Llama-xLAM-2-8b-fc-r": "xlam",
    "nvidia/NVIDIA-Nemotron-3.5-Nano-30B-A3B": "qwen3_xml",
    "deepcogito/cogito-v1-preview-llama-8B": "hermes",
    "deepcogito/cogito-v2-preview-llama-405B": "hermes",
    "deepcogito/cogito-v2-preview-deepseek-671B-MoE": "deepseek_v3",
    "deepcogito/cogito-671b-v2.1-FP8": "deepseek_v3",
    "ornith-ai/Ornith-1.0-35B-GGUF": "qwen3_xml",
    "ornith-ai/Ornith-1.5-397B": "qwen3_xml",
    "inclusionAI/Ling-1T": "hermes",
    "inclusionAI/Ling-flash-2.0": "hermes",
    "inclusionAI/Ling-2.6-1T": "hermes",
    "inclusionAI/Ring-mini-2.0": "hermes",
    "inclusionAI/Ring-2.5-1T": "hermes",
    "inclusionAI/Ling-3.0-flash": "glm_kv",
    "MiniMaxAI/MiniMax-M1-80k": "jamba",
    "reflection/beam-1.0": "beam",
    "upstage/Solar-Open-100B": "solar_open",
    "upstage/Solar-Open2-250B": "solar_open2",
    "sbintuitions/sarashina2.2-3b-instruct-v0.1": "sarashina",
    "naver-hyperclovax/HyperCLOVAX-SEED-Think-14B": "hyperclovax",
    "naver-hyperclovax/HyperCLOVAX-SEED-Think-32B": "glm_kv",
    "speakleash/Bielik-11B-v3.0-Instruct": "hermes",
}


@pytest.mark.parametrize(("model", "format_name"), REPOSITORIES.items())
def test_a_model_is_found_by_the_name_of_its_repository(model: str, format_name: str) -> None:
    """Whoever publishes it, however it is quantised, and from whatever it was made."""
    suggested = suggest_format(model, FORMATS)
    assert suggested is not None
    assert suggested.name == format_name


@pytest.mark.parametrize("model", ["qwen3:8b", "QWEN3 8B", "./models/Qwen_Qwen3-8B-Q4_K_M.gguf", "qwen3"])
def test_signs_and_large_letters_mean_nothing(model: str) -> None:
    """A name may be that of a file, or as another server calls the model."""
    suggested = suggest_format(model, FORMATS)
    assert suggested is not None
    assert suggested.name == "qwen3_json"


@pytest.mark.parametrize(
    "model", ["", "-", "gpt2", "google/gemma-2-9b-it", "THUDM/glm-4-9b-chat", "aqwen3x", "step30b"]
)
def test_a_name_that_no_format_knows_is_nobodys(model: str) -> None:
    """A wrong suggestion is worse than none; a number or a word counts only as a whole."""
    assert suggest_format(model, FORMATS) is None


@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each.name)
def test_a_format_s_own_name_is_that_format(format_: Format) -> None:
    """Also where its words name another's models, as those of `qwen3_xml` do."""
    assert suggest_format(format_.name, FORMATS) is format_


def test_the_first_name_counts_and_of_those_the_longest() -> None:
    """A model is called by its own name first, then by the one of what it was made of."""
    known = [
        Format("base", "", "", ("Base-1",)),
        Format("tuned", "", "", ("T", "Base-1*tuned")),
        Format("longest", "", "", ("T-2",)),
    ]

    def name(model: str) -> str:
        found = suggest_format(model, known)
        return found.name if found else ""

    assert [name(model) for model in ("T-3-Base-1", "Base-1-T-3", "T-2-Base-1", "Base-1-8B-tuned", "Base-1.5")] == [
        "tuned",
        "base",
        "longest",
        "tuned",
        "",
    ]


def test_a_model_is_named_by_one_format() -> None:
    """Else the order of the list would decide."""
    models = [model.lower() for format_ in FORMATS for model in format_.models]
    assert len(models) == len(set(models))
