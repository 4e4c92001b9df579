import type { ClientName } from "./client-dialects.ts";
import { at, type Json, listAt, payloadsOf, textAt } from "./loose-json.ts";
import { assembled } from "./read-messages.ts";

/*
 * What coding agents send, in their own form and shortened: Codex 0.171, Claude Code 2.1.332, Gemini CLI 0.61, opencode 1.18.
 * `npm run test:agents` runs the agents themselves.
 */

/** One agent's way to ask. */
export interface AgentForm {
  name: string;
  dialect: ClientName;
  headers: Record<string, string>;
  /** Query behind the dialect's path. */
  query?: string;
  /** The tool that the model calls, by its names in all dialects, and with what: an object, or free text. */
  tool: { names: string[]; input: Json | string };
  /** The call as it must stand in what the agent is told. */
  call: Json;
  /** What the agent asks first, but for the model. */
  first: Json;
  /** What it asks next: the conversation, what it was told, and what its tool said. */
  next(first: Json, told: string): Json;
  /** What the provider must be told besides `RESULT`. */
  tells?: string;
}

/** What the tools say. */
export const RESULT = "note: sluicegate-works";

const SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { command: { description: "What to run.", type: "string" }, timeout: { type: "number", minimum: 1 } },
  required: ["command"],
  additionalProperties: false,
};
const RUN = { command: "cat note.txt" };

function codex(form: {
  name: string;
  tool: AgentForm["tool"];
  call: Json;
  tools?: Json[];
  opening?: Json[];
  result(call: Json): Json;
  more: Json;
  tells?: string;
}): AgentForm {
  const { name, tool, call, tools, opening = [], result, more, tells } = form;
  const message = (role: string, ...texts: string[]): Json => ({
    type: "message",
    id: `msg_${role}`,
    role,
    content: texts.map((text) => ({ type: "input_text", text })),
  });
  return {
    ...{ name, dialect: "responses", tool, call, ...(tells !== undefined && { tells }) },
    headers: {
      "session-id": "s",
      "thread-id": "s",
      originator: "codex_exec",
      "x-codex-beta-features": "compaction_v2",
    },
    first: {
      stream: true,
      input: [
        ...opening,
        message("developer", "Rules.", "More rules."),
        message("user", "<cwd/>"),
        message("user", "Go."),
      ],
      ...(tools && { tools }),
      tool_choice: "auto",
      store: false,
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "s",
      client_metadata: { session_id: "s", "x-codex-window-id": "s:0" },
      ...more,
    },
    next(first, told) {
      const output = listAt(payloadsOf(told).at(-1), "response", "output") as Json[];
      const made = output.find((item) => textAt(item, "type").endsWith("_call")) ?? {};
      return { ...first, input: [...listAt(first, "input"), ...output, result(made)] };
    },
  };
}

const EXEC_COMMAND = {
  type: "function",
  name: "exec_command",
  description: "Runs.",
  strict: false,
  parameters: SCHEMA,
};
const PATCH = {
  type: "custom",
  name: "apply_patch",
  description: "Edits files.",
  format: { type: "grammar", syntax: "lark", definition: 'start: "*** Begin Patch" LF' },
};
const AGENT_TOOLS = {
  type: "namespace",
  name: "multi_agent",
  description: "Sub-agents.",
  tools: [{ type: "function", name: "spawn_agent", strict: false, parameters: SCHEMA }],
};
const SEARCH = { type: "tool_search", execution: "client", description: "Finds tools.", parameters: SCHEMA };
const WEB = { type: "web_search", external_web_access: true, search_content_types: ["text", "image"] };
const answered = (type: string) => (call: Json) => ({ type, id: "o_1", call_id: call["call_id"], output: RESULT });
const SCRIPT = 'text(await tools.exec_command({ "cmd": "cat" }));';

const CODEX: AgentForm[] = [
  codex({
    name: "Codex",
    tools: [EXEC_COMMAND, AGENT_TOOLS, WEB],
    tool: { names: ["exec_command"], input: RUN },
    call: { type: "function_call", name: "exec_command", arguments: JSON.stringify(RUN) },
    result: answered("function_call_output"),
    more: { parallel_tool_calls: true, reasoning: { summary: "auto" } },
  }),
  codex({
    name: "Codex, a tool of a namespace",
    tools: [EXEC_COMMAND, AGENT_TOOLS],
    tool: { names: ["spawn_agent", "multi_agent__spawn_agent"], input: RUN },
    call: { type: "function_call", name: "spawn_agent", namespace: "multi_agent" },
    result: answered("function_call_output"),
    more: { parallel_tool_calls: true, reasoning: { effort: "medium", summary: "auto" } },
  }),
  codex({
    name: "Codex, a patch",
    tools: [EXEC_COMMAND, PATCH, SEARCH, WEB],
    tool: { names: ["apply_patch"], input: "*** Begin Patch\n*** End Patch" },
    call: { type: "custom_tool_call", name: "apply_patch", input: "*** Begin Patch\n*** End Patch" },
    result: answered("custom_tool_call_output"),
    more: { parallel_tool_calls: true, reasoning: { effort: "high" }, text: { verbosity: "low" } },
  }),
  codex({
    name: "Codex, code mode",
    opening: [
      {
        type: "additional_tools",
        id: "at_1",
        role: "developer",
        tools: [
          { type: "namespace", name: "functions", description: "", tools: [{ ...PATCH, name: "exec" }] },
          AGENT_TOOLS,
        ],
      },
    ],
    tool: { names: ["exec", "functions__exec"], input: SCRIPT },
    call: { type: "custom_tool_call", name: "exec", namespace: "functions", input: SCRIPT },
    result: answered("custom_tool_call_output"),
    more: {
      parallel_tool_calls: false,
      reasoning: { effort: "low", context: "all_turns" },
      text: { verbosity: "low" },
    },
  }),
];

/** Its own search for tools, which only a provider of the Responses API runs by itself. */
const SEARCHING = codex({
  name: "Codex, a search for tools",
  tools: [EXEC_COMMAND, SEARCH, WEB],
  tool: { names: ["tool_search"], input: { query: "agents", limit: 3 } },
  call: { type: "tool_search_call", execution: "client", arguments: { query: "agents", limit: 3 } },
  result: ({ call_id }) => ({
    ...{ type: "tool_search_output", id: "o_1", call_id, execution: "client", status: "completed" },
    tools: [{ ...AGENT_TOOLS, description: RESULT, tools: [{ ...AGENT_TOOLS.tools[0], description: RESULT }] }],
  }),
  tells: "now callable: multi_agent__spawn_agent",
  more: { parallel_tool_calls: true, reasoning: { effort: "medium" } },
});

const CLAUDE_TOOL = { name: "Bash", description: "Runs.", input_schema: SCHEMA };
const EPHEMERAL = { cache_control: { type: "ephemeral" } };

function claude(name: string, tool: AgentForm["tool"], content: unknown, found: Json[] = []): AgentForm {
  return {
    ...{ name, dialect: "messages", query: "?beta=true", tool },
    headers: {
      "anthropic-version": "2023-06-01",
      "anthropic-beta":
        "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,mid-conversation-tool-changes-2026-07-01,advanced-tool-use-2025-11-20,effort-2025-11-24",
      "x-app": "cli",
    },
    call: { type: "tool_use", name: tool.names[0], input: tool.input },
    first: {
      stream: true,
      max_tokens: 32_000,
      system: [
        { type: "text", text: "x-billing-header: cc_version=2.1;" },
        { type: "text", text: "Rules.", ...EPHEMERAL },
      ],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "<system-reminder/>" },
            { type: "text", text: "Go." },
          ],
        },
        { role: "system", content: "# Environment" },
      ],
      tools: [
        CLAUDE_TOOL,
        { ...CLAUDE_TOOL, name: "ToolSearch" },
        {
          name: "Placeholder",
          description: "Keeps the others deferred.",
          input_schema: { type: "object", properties: {} },
          defer_loading: true,
        },
      ],
      thinking: { type: "adaptive", display: "omitted" },
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      output_config: { effort: "high" },
      metadata: { user_id: '{"device_id":"d","session_id":"s"}' },
    },
    next(first, told) {
      const said = listAt(assembled(payloadsOf(told)), "content");
      const id = textAt(
        said.find((block) => textAt(block, "type") === "tool_use"),
        "id",
      );
      const result = { tool_use_id: id, type: "tool_result", content, is_error: false, ...EPHEMERAL };
      const messages = [
        ...listAt(first, "messages"),
        { role: "assistant", content: said },
        { role: "user", content: [result] },
        // For models it knows well.
        ...(found.length > 0
          ? [{ role: "system", content: [{ type: "text", text: "9 tokens left", ...EPHEMERAL }] }]
          : []),
      ];
      return { ...first, messages, tools: [...listAt(first, "tools"), ...found] };
    },
  };
}

const GEMINI: AgentForm = {
  name: "Gemini CLI",
  dialect: "gemini",
  headers: { "x-goog-api-client": "google-genai-sdk/1.30.0" },
  tool: { names: ["run_shell_command"], input: RUN },
  call: { name: "run_shell_command", args: RUN },
  first: {
    systemInstruction: { role: "user", parts: [{ text: "Rules." }] },
    contents: [{ role: "user", parts: [{ text: "<session_context/>" }, { text: "Go." }] }],
    tools: [
      {
        functionDeclarations: [
          { name: "run_shell_command", description: "Runs.", parametersJsonSchema: SCHEMA },
          { name: "enter_plan_mode", description: "Plans.", parametersJsonSchema: { type: "object", properties: {} } },
        ],
      },
    ],
    generationConfig: { temperature: 1, topP: 0.95, topK: 64, thinkingConfig: { includeThoughts: true } },
  },
  next(first, told) {
    const calls = payloadsOf(told)
      .flatMap((event) => listAt(event, "candidates", 0, "content", "parts") as Json[])
      .filter((part) => part["functionCall"] !== undefined);
    const made = at(calls[0], "functionCall");
    // It keeps no thoughts, and gives a call that came without a proof the word for that.
    const parts = calls.map((part) => ({ thoughtSignature: "skip_thought_signature_validator", ...part }));
    const { name } = made as Json;
    const functionResponse = { id: at(made, "id"), name, response: { output: RESULT } };
    const more = [
      { role: "model", parts },
      { role: "user", parts: [{ functionResponse }] },
    ];
    return { ...first, contents: [...listAt(first, "contents"), ...more] };
  },
};

const OPENCODE: AgentForm = {
  name: "opencode",
  dialect: "chat",
  headers: { "x-session-affinity": "ses_1", "x-session-id": "ses_1" },
  tool: { names: ["bash"], input: RUN },
  call: { type: "function", function: { name: "bash", arguments: JSON.stringify(RUN) } },
  first: {
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 8_000,
    messages: [
      { role: "system", content: "Rules." },
      { role: "user", content: '"Go."' },
    ],
    tools: [{ type: "function", function: { name: "bash", description: "Runs.", parameters: SCHEMA } }],
    tool_choice: "auto",
  },
  next(first, told) {
    const deltas = payloadsOf(told).flatMap((event) => listAt(event, "choices", 0, "delta", "tool_calls") as Json[]);
    const id = deltas.map((delta) => textAt(delta, "id")).find((found) => found !== "");
    const spoken = { name: "bash", arguments: JSON.stringify(RUN) };
    const more = [
      { role: "assistant", content: "", tool_calls: [{ id, type: "function", function: spoken }] },
      { role: "tool", tool_call_id: id, content: RESULT },
    ];
    return { ...first, messages: [...listAt(first, "messages"), ...more] };
  },
};

/** All of them. */
export const AGENT_FORMS: readonly AgentForm[] = [
  ...CODEX,
  SEARCHING,
  claude("Claude Code", { names: ["Bash"], input: RUN }, RESULT),
  claude(
    "Claude Code, a search for tools",
    { names: ["ToolSearch"], input: RUN },
    [{ type: "tool_reference", tool_name: "WebFetch" }],
    [{ ...CLAUDE_TOOL, name: "WebFetch", description: RESULT, defer_loading: true }],
  ),
  GEMINI,
  OPENCODE,
];
