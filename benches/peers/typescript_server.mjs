// The tool `calc_add` with the TypeScript SDK, and as many copies as asked for, over stdio.
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const server = new McpServer({ name: "peers", version: "1.0.0" });
const names = Array.from({ length: Number(process.argv[2]) }, (_, n) =>
  n === 0 ? "calc_add" : `module_${n % 100}_tool_number_${n}`);
for (const name of names) {
  const config = {
    description: "Adds two numbers.",
    inputSchema: z.object({ a: z.number().int(), b: z.number().int() }),
    outputSchema: z.object({ result: z.number().int() }),
  };
  server.registerTool(name, config, async ({ a, b }) => {
    const result = a + b;
    return { content: [{ type: "text", text: String(result) }], structuredContent: { result } };
  });
}
await server.connect(new StdioServerTransport());
