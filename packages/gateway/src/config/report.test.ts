import { expect, test } from "vitest";
import { formatProblems, problemsJson } from "./report.ts";
import { loadText } from "./test/load-text.ts";

test("a problem is shown with its line and a caret", async () => {
  const { problems, frame } = await loadText(`providers: { sim: { kind: simulator } }
deployments: { gpt-uae-ptu: { provider: sim, model: a } }
routes:
  default:
    chain: [gpt-uae-ptu, gpt-uae]
`);
  expect(formatProblems(problems, frame)).toBe(
    `sluicegate.yaml:5:26 error routes.default.chain[1]: unknown deployment \`gpt-uae\`; did you mean \`gpt-uae-ptu\`?
    5 |     chain: [gpt-uae-ptu, gpt-uae]
      |                          ^
1 error`,
  );
});

test("long lines are cut around the place, tabs keep their width", async () => {
  const many = Array.from({ length: 20 }, (_, i) => `sim/model-number-${i}`).join(", ");
  const { problems, frame } = await loadText(
    `providers: { sim: { kind: simulator } }\nroutes: { d: { chain: [${many}, smi/x] } }\n`,
  );
  const [head, line = "", caret = ""] = formatProblems(problems, frame).split("\n");
  expect(head).toContain("unknown deployment `smi/x`");
  expect(line.length).toBeLessThan(130);
  expect(line.slice(caret.indexOf("^"))).toMatch(/^smi\/x/);
});

test("secrets never stand in a frame, not even in a file that cannot be parsed", async () => {
  const broken = await loadText(
    'providers: { a: { kind: openai, api_key: sk-hidden, headers: { x-token: "tok" } }\n  b\n',
  );
  const text = formatProblems(broken.problems, broken.frame);
  expect(broken.snapshot).toBeNull();
  for (let line = 1; line < 4; line++)
    expect(broken.frame("sluicegate.yaml", line, 1)?.text ?? "").not.toMatch(/hidden|tok"/);
  expect(text).not.toContain("hidden");
  const flow = await loadText(
    "providers: { a: { kind: openai, api_key: sk-hidden, unknown: 1 } }\nroutes: { d: { chain: [a/x] } }\n",
  );
  const [, line = "", caret = ""] = formatProblems(
    flow.problems.filter(({ severity }) => severity === "error"),
    flow.frame,
  ).split("\n");
  expect(line).toContain("api_key: ***, unknown");
  expect(line.slice(caret.indexOf("^"))).toMatch(/^unknown/);
});

test("places that are not in a file, counts, and the form for programs", () => {
  const problems = [
    {
      severity: "error" as const,
      file: null,
      line: null,
      column: null,
      path: "SLUICEGATE_PORT",
      message: "is no port",
    },
    { severity: "warning" as const, file: "a.yaml", line: null, column: null, path: "", message: "is gone" },
    { severity: "warning" as const, file: "a.yaml", line: 1, column: 2, path: "x", message: "odd" },
  ];
  expect(formatProblems(problems)).toBe(
    "error SLUICEGATE_PORT: is no port\na.yaml warning: is gone\na.yaml:1:2 warning x: odd\n1 error, 2 warnings",
  );
  expect(formatProblems([])).toBe("");
  expect(JSON.parse(problemsJson(problems))).toEqual({ ok: false, problems });
});
