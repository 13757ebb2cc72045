"""Types of fields in words for people who do not read Python."""

from typing import Any

from msgspec import inspect

NAMES: dict[type[inspect.Type], str] = {
    inspect.AnyType: "any JSON value",
    inspect.BoolType: "boolean",
    inspect.StrType: "string",
    inspect.NoneType: "none",
}


def in_words(kind: Any) -> str:
    """Return a type in words: `int | None` with a lower bound of 0 is `integer ≥ 0 or none`."""
    return _words(inspect.type_info(kind))


def _words(info: inspect.Type) -> str:  # noqa: PLR0911 # a table with a row a kind of type
    match info:
        case inspect.IntType():
            return f"integer{_bounds(info)}"
        case inspect.FloatType():
            return f"number{_bounds(info)}"
        case inspect.LiteralType(values):
            return " or ".join(f'`"{value}"`' for value in values)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return f"list of {_words(item)}"
        case inspect.DictType(value_type=inspect.AnyType()):
            return "object"
        case inspect.DictType(value_type=value):
            return f"object of {_words(value)}"
        case inspect.UnionType(types):
            return " or ".join(_words(one) for one in types)
        case inspect.StructType(cls):
            return cls.__name__
        case inspect.Metadata(type=plain):
            return _words(plain)
        case _:
            return NAMES[type(info)]


def _bounds(info: inspect.IntType | inspect.FloatType) -> str:
    signs = ((">", info.gt), ("≥", info.ge), ("<", info.lt), ("≤", info.le))
    return "".join(f" {sign} {bound}" for sign, bound in signs if bound is not None)
