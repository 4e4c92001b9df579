import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseDotenv } from "./dotenv.ts";
import { readEnvironment } from "./env.ts";
import { folderWith } from "./test/load-text.ts";

test("a .env file as people write it", () => {
  const { values, problems } = parseDotenv(
    `\uFEFF# keys
A=1
export B = two words # comment
C="with \\"quotes\\", a \\n line and a # sign" # comment
D='as $it \\n is'
E=
F=a#b
G="-----BEGIN
MIDDLE
END"
H=x=y==\r
  I=indented
A=last wins
`,
    ".env",
  );
  expect(problems).toEqual([]);
  expect(Object.fromEntries(values)).toEqual({
    A: "last wins",
    B: "two words",
    C: 'with "quotes", a \n line and a # sign',
    D: "as $it \\n is",
    E: "",
    F: "a#b",
    G: "-----BEGIN\nMIDDLE\nEND",
    H: "x=y==",
    I: "indented",
  });
});

test("a line that assigns nothing is told of and skipped", () => {
  const { values, problems } = parseDotenv("A=1\nnonsense\n2B=x\nC=3", ".env");
  expect([...values]).toEqual([
    ["A", "1"],
    ["C", "3"],
  ]);
  expect(problems.map(({ line, severity, message }) => [line, severity, message])).toEqual([
    [2, "warning", "not a `NAME=value` line, so it is skipped"],
    [3, "warning", "not a `NAME=value` line, so it is skipped"],
  ]);
});

test("the real environment wins over .env", () => {
  const folder = folderWith({ ".env": "PATH=/nowhere\nSLUICEGATE_TEST_DOTENV=from-file\n" });
  try {
    const environment = readEnvironment(folder.dir);
    expect(environment.cwd).toBe(folder.dir);
    expect(environment.get("PATH")).not.toBe("/nowhere");
    expect(environment.get("SLUICEGATE_TEST_DOTENV")).toBe("from-file");
    expect(environment.get("toString")).toBeUndefined();
    expect(environment.names()).toContain("SLUICEGATE_TEST_DOTENV");
    expect(environment.problems).toEqual([]);
  } finally {
    folder.remove();
  }
});

test("no .env is no problem; one that cannot be read is told of", () => {
  const folder = folderWith({ ".env/x": "" });
  try {
    expect(readEnvironment(folder.dir).problems.map(({ message }) => message)).toEqual([
      ".env cannot be read (EISDIR), so nothing in it counts",
    ]);
  } finally {
    folder.remove();
  }
});

test("what is changed in .env counts when it is read again, under what the process was started with", () => {
  const folder = folderWith({ ".env": "SLUICEGATE_TEST_REREAD=one\nPATH=never\n" });
  try {
    const environment = readEnvironment(folder.dir);
    expect(environment.get("SLUICEGATE_TEST_REREAD")).toBe("one");
    writeFileSync(join(folder.dir, ".env"), "SLUICEGATE_TEST_REREAD=two\nPATH=never\n");
    expect(environment.get("SLUICEGATE_TEST_REREAD")).toBe("one");
    environment.reread?.();
    expect([environment.get("SLUICEGATE_TEST_REREAD"), environment.get("PATH")]).toEqual(["two", process.env.PATH]);
  } finally {
    folder.remove();
  }
});
