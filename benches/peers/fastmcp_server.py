"""The tool `calc_add` with FastMCP, and as many copies as asked for, over stdio."""

import sys

from fastmcp import FastMCP

mcp = FastMCP("peers")


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


mcp.tool(add, name="calc_add")
for n in range(1, int(sys.argv[1])):
    mcp.tool(add, name=f"module_{n % 100}_tool_number_{n}")
mcp.run(show_banner=False, log_level="ERROR")
