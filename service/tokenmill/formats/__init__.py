"""The formats, one file each. A format is in use when it stands in this list."""

from weakref import WeakValueDictionary

from tokenmill.errors import BadOpen
from tokenmill.formats.apertus import APERTUS
from tokenmill.formats.apriel import APRIEL
from tokenmill.formats.beam import BEAM
from tokenmill.formats.cohere_action import COHERE_ACTION
from tokenmill.formats.command_r_action import COMMAND_R_ACTION
from tokenmill.formats.deepseek_dsml import DEEPSEEK_DSML
from tokenmill.formats.deepseek_v3 import DEEPSEEK_V3
from tokenmill.formats.deepseek_v31 import DEEPSEEK_V31
from tokenmill.formats.dots import DOTS
from tokenmill.formats.ernie45 import ERNIE45
from tokenmill.formats.firefunction import FIREFUNCTION
from tokenmill.formats.functionary_v31 import FUNCTIONARY_V31
from tokenmill.formats.functionary_v32 import FUNCTIONARY_V32
from tokenmill.formats.functiongemma import FUNCTIONGEMMA
from tokenmill.formats.gemma4 import GEMMA4
from tokenmill.formats.gigachat3 import GIGACHAT3
from tokenmill.formats.gigachat35 import GIGACHAT35
from tokenmill.formats.glm_kv import GLM_KV
from tokenmill.formats.granite import GRANITE
from tokenmill.formats.granite20b_fc import GRANITE20B_FC
from tokenmill.formats.granite_prose_think import GRANITE_PROSE_THINK
from tokenmill.formats.harmony import HARMONY
from tokenmill.formats.hermes import HERMES
from tokenmill.formats.hf import HF
from tokenmill.formats.hunyuan_a13b import HUNYUAN_A13B
from tokenmill.formats.hunyuan_kv import HUNYUAN_KV
from tokenmill.formats.hyperclovax import HYPERCLOVAX
from tokenmill.formats.inkling import INKLING
from tokenmill.formats.internlm import INTERNLM
from tokenmill.formats.jamba import JAMBA
from tokenmill.formats.json_array import JSON_ARRAY
from tokenmill.formats.k2_horizon import K2_HORIZON
from tokenmill.formats.kimi_k2 import KIMI_K2
from tokenmill.formats.kimi_k3 import KIMI_K3
from tokenmill.formats.kimi_think import KIMI_THINK
from tokenmill.formats.lfm2 import LFM2
from tokenmill.formats.llama3_json import LLAMA3_JSON
from tokenmill.formats.llama4_pythonic import LLAMA4_PYTHONIC
from tokenmill.formats.longcat import LONGCAT
from tokenmill.formats.mimo import MIMO
from tokenmill.formats.minicpm5_xml import MINICPM5_XML
from tokenmill.formats.minimax_m2 import MINIMAX_M2
from tokenmill.formats.minimax_m3 import MINIMAX_M3
from tokenmill.formats.mistral_args import MISTRAL_ARGS
from tokenmill.formats.mistral_callid import MISTRAL_CALLID
from tokenmill.formats.mistral_json import MISTRAL_JSON
from tokenmill.formats.muse import MUSE
from tokenmill.formats.nemotron_toolcall_array import NEMOTRON_TOOLCALL_ARRAY
from tokenmill.formats.olmo3 import OLMO3
from tokenmill.formats.phi4mini import PHI4MINI
from tokenmill.formats.plain import PLAIN
from tokenmill.formats.plamo3 import PLAMO3
from tokenmill.formats.pythonic import PYTHONIC
from tokenmill.formats.qwen3_json import QWEN3_JSON
from tokenmill.formats.qwen3_xml import QWEN3_XML
from tokenmill.formats.sarashina import SARASHINA
from tokenmill.formats.seed_oss import SEED_OSS
from tokenmill.formats.solar_open import SOLAR_OPEN
from tokenmill.formats.solar_open2 import SOLAR_OPEN2
from tokenmill.formats.step3 import STEP3
from tokenmill.formats.think import THINK
from tokenmill.formats.think_append import THINK_APPEND
from tokenmill.formats.xlam import XLAM
from tokenmill.limits import MIB, Limits
from tokenmill.parser.compile.grammar import Grammar, options_key
from tokenmill.parser.options import Options
from tokenmill.parser.spec import Format
from tokenmill.recent import Recent
from tokenmill.registry import Registry

BY_PROVIDER: dict[str, dict[str, str]] = {
    "autobyteus": {"anthropic": "autobyteus_xml", "": "autobyteus_json"},
}
"""Names that stand for the format of a provider's models: the format by provider; the empty name is for all others."""

FORMATS: Registry[Format] = Registry(
    (
        PLAIN,
        APERTUS,
        APRIEL,
        BEAM,
        COHERE_ACTION,
        COMMAND_R_ACTION,
        DEEPSEEK_DSML,
        DEEPSEEK_V3,
        DEEPSEEK_V31,
        DOTS,
        ERNIE45,
        FIREFUNCTION,
        FUNCTIONARY_V31,
        FUNCTIONARY_V32,
        FUNCTIONGEMMA,
        GEMMA4,
        GIGACHAT3,
        GIGACHAT35,
        GLM_KV,
        GRANITE,
        GRANITE20B_FC,
        GRANITE_PROSE_THINK,
        HARMONY,
        HERMES,
        HF,
        HUNYUAN_A13B,
        HUNYUAN_KV,
        HYPERCLOVAX,
        INKLING,
        INTERNLM,
        JAMBA,
        JSON_ARRAY,
        K2_HORIZON,
        KIMI_K2,
        KIMI_K3,
        KIMI_THINK,
        LFM2,
        LLAMA3_JSON,
        LLAMA4_PYTHONIC,
        LONGCAT,
        MIMO,
        MINICPM5_XML,
        MINIMAX_M2,
        MINIMAX_M3,
        MISTRAL_ARGS,
        MISTRAL_CALLID,
        MISTRAL_JSON,
        MUSE,
        NEMOTRON_TOOLCALL_ARRAY,
        OLMO3,
        PHI4MINI,
        PLAMO3,
        PYTHONIC,
        QWEN3_JSON,
        QWEN3_XML,
        SARASHINA,
        SEED_OSS,
        SOLAR_OPEN,
        SOLAR_OPEN2,
        STEP3,
        THINK,
        THINK_APPEND,
        XLAM,
    ),
    BY_PROVIDER,
)
"""Every format by name and alias, including those of other packages."""

GRAMMARS_KEPT = 512
"""Compiled grammars that are kept though no open message uses them: one for each set of options in use."""

GRAMMARS_BYTES = 64 * MIB
"""Bytes of all of them: a tool list makes from some ten KiB to some MiB, and each client may have its own. To compile
one again takes some milliseconds, at the first message with its options."""


def find_format(name: str) -> Format:
    """Return the format of this name or alias. Raises `BadOpen`."""
    format_ = FORMATS.find(name)
    if format_ is None:
        raise BadOpen(f"unknown format {name!r}; {FORMATS.instead_of(name)}")
    return format_


def _chosen(name: str, provider: str) -> str:
    """Return the format that a name stands for."""
    choices = BY_PROVIDER.get(name.lower())
    return choices.get(provider.lower(), choices[""]) if choices else name


def compile_grammar(options: Options, limits: Limits | None = None, *, traced: bool = False) -> Grammar:
    """Return the grammar of these options, kept for the next message with the same. Raises `BadOpen` on an unknown
    format.

    While any message uses it there is only one. A `traced` one also reports the source of calls and markers, as spans
    among the events.
    """
    key = options_key(options), limits or Limits(), traced
    if (known := _recent.get(key)) is not None:
        return known
    if (grammar := _in_use.get(key)) is None:
        grammar = _in_use[key] = _compiled(options, limits or Limits(), traced=traced)
    _recent.put(key, grammar, grammar.memory)
    return grammar


_Key = tuple[str, Limits, bool]
_recent: Recent[_Key, Grammar] = Recent(GRAMMARS_KEPT, GRAMMARS_BYTES)
_in_use: WeakValueDictionary[_Key, Grammar] = WeakValueDictionary()


def _compiled(options: Options, limits: Limits, *, traced: bool) -> Grammar:
    names = options.format
    names = [names] if isinstance(names, str) else names
    formats = [find_format(_chosen(name, options.provider)) for name in names]
    if not formats:
        raise BadOpen("option 'format': the list of formats is empty")
    return Grammar(options, formats, limits, traced=traced)
