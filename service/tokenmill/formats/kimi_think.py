"""Reasoning between triangles."""

from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Region

KIMI_THINK = Format(
    name="kimi_think",
    summary="Reasoning in `◁think▷`, no calls.",
    sample="◁think▷The capital is asked for.◁/think▷The capital of France is Paris.",
    models=("Kimi-VL*Thinking",),
    aliases=("kimi",),
    regions=(Region(marker("◁think▷"), marker("◁/think▷")),),
)
