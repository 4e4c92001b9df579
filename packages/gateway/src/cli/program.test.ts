import { describe, expect, it } from "vitest";
import { VERSION } from "../version.ts";
import { newFolder, runCli } from "./fixtures/run-cli.ts";

const dir = newFolder();
const COMMANDS = [
  "serve",
  "check",
  "schema",
  "keys create",
  "keys list",
  "keys rotate",
  "keys revoke",
  "spend",
  "requests",
  "simulator",
  "version",
];

describe("the command line", () => {
  it.each(COMMANDS)("explains %s with an example", async (command) => {
    const { code, out } = await runCli(`${command} --help`, { dir });
    expect(code).toBe(0);
    expect(out).toMatch(/\nExamples?:\n {2}(KEY=\$\()?sluicegate /);
    if (command !== "serve") expect(out).toContain("--json");
  });

  it("names every command", async () => {
    const { code, out } = await runCli("--help", { dir });
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(out).toMatch(new RegExp(`^ {2}${command.split(" ")[0]} `, "m"));
  });

  it.each([
    "",
    "chekc",
    "check --jsn",
    "check a b",
    "keys",
    "keys rotate",
    "simulator --port ninety",
    "serve --port 70000",
  ])("ends with 2 for `%s`, and says on stderr what it takes", async (line) => {
    const { code, out, err } = await runCli(line, { dir });
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/Usage:|--help says/);
  });

  it("suggests the command that was meant", async () => {
    expect((await runCli("chekc", { dir })).err).toContain("Did you mean check?");
  });

  it("tells the version", async () => {
    expect((await runCli("version", { dir })).out).toBe(`${VERSION}\n`);
    expect((await runCli("--version", { dir })).out).toBe(`${VERSION}\n`);
    expect(JSON.parse((await runCli("version --json", { dir })).out)).toEqual({
      version: VERSION,
      node: process.versions.node,
    });
  });

  it("prints a JSON schema of the config", async () => {
    const { out } = await runCli("schema", { dir });
    expect(JSON.parse(out)).toMatchObject({ title: "sluicegate.yaml", properties: { providers: {} } });
  });

  it("runs a simulator until it is stopped", async () => {
    let answer: unknown;
    const { code, out } = await runCli("simulator --port 0 --json", {
      dir,
      untilStopped: async (said) => {
        while (said() === "") await new Promise((resolve) => setTimeout(resolve, 5));
        const { url } = JSON.parse(said()) as { url: string };
        const messages = [{ role: "user", content: "hello" }];
        const response = await fetch(`${url}/v1/chat/completions`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ model: "sim/echo", messages }),
        });
        answer = await response.json();
      },
    });
    expect(code).toBe(0);
    expect(answer).toMatchObject({ choices: [{ message: { content: "hello" } }] });
    await expect(fetch((JSON.parse(out) as { url: string }).url)).rejects.toThrow();
  });
});
