"""Body grammars: how a call writes its arguments. One file each."""

from tokenmill.parser.bodies.json_body import JsonArguments, JsonCall, JsonKeyed
from tokenmill.parser.bodies.literal import Literals
from tokenmill.parser.bodies.params import Params
from tokenmill.parser.bodies.pycalls import PyCalls
from tokenmill.parser.bodies.tree import Tree
from tokenmill.parser.run.run import Body, Reader

__all__ = [
    "Body",
    "JsonArguments",
    "JsonCall",
    "JsonKeyed",
    "Literals",
    "Params",
    "PyCalls",
    "Reader",
    "Tree",
]
