// One client of the TypeScript SDK against Wayfare, over HTTP or a command: each step as a line of JSON.
// node clients.mjs v1|v2 auto|legacy URL
// node clients.mjs v1|v2 auto|legacy -- COMMAND ARGUMENTS...
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [sdk, era, ...target] = process.argv.slice(2);
const installed = createRequire(pathToFileURL(`${process.cwd()}/`)); // the packages are those of the working folder
const load = async (name) => import(pathToFileURL(installed.resolve(name)));
const v1 = "@modelcontextprotocol/sdk/client";
const { Client } = await load(sdk === "v1" ? `${v1}/index.js` : "@modelcontextprotocol/client");
const { StreamableHTTPClientTransport } = await load(sdk === "v1" ? `${v1}/streamableHttp.js` : "@modelcontextprotocol/client");
const { StdioClientTransport } = await load(sdk === "v1" ? `${v1}/stdio.js` : "@modelcontextprotocol/client/stdio");

const negotiation = sdk === "v1" ? {} : { versionNegotiation: { mode: era } };
const client = new Client({ name: `typescript-${sdk}`, version: "1" }, { capabilities: {}, ...negotiation });
const transport =
  target[0] === "--"
    ? new StdioClientTransport({ command: target[1], args: target.slice(2), env: { ...process.env } })
    : new StreamableHTTPClientTransport(new URL(target[0]));

const call = (name, args, options) =>
  sdk === "v1"
    ? client.callTool({ name, arguments: args }, undefined, options)
    : client.callTool({ name, arguments: args }, options);
const answer = async (name, args) => {
  const result = await call(name, args);
  if (result.isError) throw new Error(JSON.stringify(result.structuredContent));
  return result.structuredContent;
};
const steps = {
  connect: async () => {
    await client.connect(transport);
    const version = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? "2025-11-25";
    if (!client.getInstructions()?.startsWith("Wayfare stands for")) throw new Error("no instructions");
    return version;
  },
  list: async () => {
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    if (names.length !== 6 || names[0] !== "search_tools") throw new Error(names.join());
    return names.length;
  },
  search: async () => {
    found = await answer("search_tools", { task: "convert 300 miles to kilometres" });
    if (found.candidates[0].tool !== "unit-exchange::convert_units") throw new Error(found.candidates[0].tool);
    return found.candidates[0].tool;
  },
  describe: async () => {
    const { tools } = await answer("describe_tool", { tools: [found.candidates[0].tool] });
    return tools[0].inputSchema.required.join();
  },
  execute: async () => {
    const given = { value: 300, source: "mi", target: "km" };
    const done = await answer("execute_tool", { tool: found.candidates[0].tool, arguments: given, route_id: found.route_id });
    if (done.result.unit !== "kilometre") throw new Error(JSON.stringify(done));
    return done.result.value;
  },
  report: async () => (await answer("report_outcome", { route_id: found.route_id, useful: true })).tool,
  progress: async () => {
    const seen = [];
    const given = { tool: "gremlin::report_progress", arguments: { steps: 3, pause_s: 0.05 } };
    await call("execute_tool", given, { onprogress: (one) => seen.push(one.progress) });
    if (seen.join() !== "1,2,3") throw new Error(seen.join());
    return seen.join();
  },
  cancel: async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort("no longer wanted"), 500);
    const began = performance.now();
    const ended = await call("execute_tool", { tool: "gremlin::hang" }, { signal: stop.signal }).then(() => "", String);
    if (!ended || performance.now() - began > 5000) throw new Error(`not cancelled: ${ended}`);
    return ended.slice(0, 80);
  },
  error: async () => {
    const { isError, structuredContent } = await call("execute_tool", { tool: "unit-exchange::convert" });
    if (!isError || structuredContent.error !== "unknown_tool") throw new Error(JSON.stringify(structuredContent));
    return structuredContent.try.slice(0, 80);
  },
  content: async () => {
    const { content } = await call("execute_readonly_tool", { tool: "gremlin::every_content" });
    // a client without a token and a cookie gets a note that its server keeps no state for it
    const own = content.filter((block) => !block.text?.startsWith("[What this call has set in its server is gone"));
    const types = own.map((block) => block.type).join();
    if (types !== "text,image,audio,resource,resource_link") throw new Error(types);
    return types;
  },
  link: async () => {
    const { links } = await answer("execute_tool", { tool: "gremlin::every_content" });
    const { content } = await call("read_result", { handle: links[0].handle });
    if (content[0].type !== "resource") throw new Error(JSON.stringify(content));
    return `${links[0].uri} ${content[0].resource.blob}`;
  },
  read_on: async () => {
    const cut = (await answer("execute_tool", { tool: "gremlin::huge_text", arguments: { kilobytes: 100 } })).result;
    let [text, offset] = [cut.text, cut.next_offset];
    while (offset !== null) {
      const part = await answer("read_result", { handle: cut.handle, offset });
      [text, offset] = [text + part.text, part.next_offset];
    }
    if (text.length !== cut.total_chars) throw new Error(`${text.length} of ${cut.total_chars}`);
    return text.length;
  },
};
let found;
for (const [step, run] of Object.entries(steps)) {
  const line = await run().then((said) => ({ step, ok: true, said }), (error) => ({ step, ok: false, said: String(error) }));
  console.log(JSON.stringify(line));
}
await client.close();
process.exit(0);
