import { describe, expect, it } from "vitest";
import type { Gateway } from "../start-gateway.ts";
import { banner } from "./banner.ts";

const gateway: Gateway = {
  url: "http://127.0.0.1:8080",
  key: "sg_dev_1",
  consoleUrl: "http://127.0.0.1:8080/console?token=t",
  source: null,
  routes: [{ alias: "default", first: "sim/echo" }],
  reload: () => Promise.reject(new Error("not here")),
  close: () => Promise.resolve(),
};

describe("what a start says", () => {
  it("tells who has no config what answers, and gives a line to try", () => {
    const text = banner(gateway);
    expect(text).toContain("default → sim/echo");
    expect(text).toContain("authorization: Bearer sg_dev_1");
    expect(text).toContain('"model":"default"');
  });

  it("tells who has one how to make a key that this gateway finds", () => {
    const text = banner({ ...gateway, key: null, source: "/etc/s.yaml" }, { config: "s.yaml", dataDir: "d" });
    expect(text).toContain("npx sluicegate keys create --tenant NAME --config s.yaml --data-dir d");
    expect(text).not.toContain("→");
  });
});
