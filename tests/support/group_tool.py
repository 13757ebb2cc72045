"""Kafka's own tool for consumer groups, from the jars of the test's broker: what operators move offsets with."""

import asyncio
import shutil

from tokenmill.servers.kafka import kafka_jars

TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"

TOOL_S = 90
"""A Java program starts in some seconds; on a busy machine many times that."""


async def consumer_groups(bootstrap: str, *arguments: str) -> str:
    """What `kafka-consumer-groups` with these arguments says."""
    java = shutil.which("java") or "java"
    heap = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    tool = await asyncio.create_subprocess_exec(
        *(java, *heap, "-cp", f"{kafka_jars()}/*", TOOL, "--bootstrap-server", bootstrap, *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(tool.communicate(), TOOL_S)
    return said.decode()


async def reset_offsets(bootstrap: str, group: str, topic: str, *where: str) -> str:
    """Move the group's offsets of a topic, as `--to-offset 5` says; answers what the tool said."""
    options = ["--group", group, "--topic", topic, "--reset-offsets", *where, "--execute"]
    return await consumer_groups(bootstrap, *options)
