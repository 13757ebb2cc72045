"""Kafka's access rules for a test's user, given by an administrator who may do everything."""

import re
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import (  # type: ignore[attr-defined] # -- it does not say what it exports
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from tokenmill.config import Config, Topics
from tokenmill.kafka.topics import output_topics

SECURITY_PAGE = Path(__file__).parents[2] / "SECURITY.md"

ROW = re.compile(
    r"^\| (?P<kind>topic|group|transactional id) \| (?P<which>[^|]+) \| (?P<operations>[^|]+) \|", re.MULTILINE
)

BESIDES = re.compile(r"(?P<operation>Read|Write) on the (?P<kind>group|transactional id)\D*? (?P<which>`[^`]+`)")

KINDS = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional id": ResourceType.TRANSACTIONAL_ID,
}

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""Settings of a broker that knows rules; a client without a login may do everything."""


class Right(NamedTuple):
    """What a worker may do with something."""

    kind: str
    which: str
    operations: tuple[str, ...]


def documented_rights() -> list[Right]:
    """Those that SECURITY.md lists for a worker."""
    page = SECURITY_PAGE.read_text(encoding="utf-8")
    return [
        Right(row["kind"], row["which"].strip(), tuple(each.strip() for each in row["operations"].split(",")))
        for row in ROW.finditer(page)
    ]


def documented_rights_of(who: str) -> list[Right]:
    """Those that SECURITY.md lists for another process, in a row of its own."""
    page = SECURITY_PAGE.read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {re.escape(who)} \| (.+) \|$", page, re.MULTILINE)
    *topics, besides = row.split(" | ")
    of_topics = zip(("Read", "Write", "DescribeConfigs"), topics, strict=True)
    rights = [Right("topic", name, (does,)) for does, names in of_topics for name in re.findall("`[^`]+`", names)]
    return rights + [Right(each["kind"], each["which"], (each["operation"],)) for each in BESIDES.finditer(besides)]


def grant(bootstrap: str, user: str, config: Config, rights: list[Right]) -> None:
    """Let the user do this, and nothing else, with what the configuration names."""
    names = {
        "input": [config.topics.tokens],
        "outputs, dead letters": output_topics(config),
        "`kafka.group_id`": [config.kafka.group_id],
        "`<prefix>-<group>-` and what follows": [
            f"{config.kafka.transactional_id_prefix}-{config.kafka.group_id}-",
        ],
        "`tools.group_id`": [config.tools.group_id],
        "`<prefix>-<tools.group_id>-`": [f"{config.kafka.transactional_id_prefix}-{config.tools.group_id}-"],
    }
    usual, ours = Topics(), config.topics
    names |= {f"`{getattr(usual, field)}`": [getattr(ours, field)] for field in ours.__struct_fields__}
    bindings = [
        AclBinding(
            KINDS[right.kind],
            name,
            ResourcePatternType.PREFIXED if right.kind == "transactional id" else ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            AclOperation[re.sub(r"(?<!^)(?=[A-Z])", "_", operation).upper()],
            AclPermissionType.ALLOW,
        )
        for right in rights
        for name in names[right.which]
        for operation in right.operations
    ]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for done in admin.create_acls(bindings).values():
        done.result(30)
