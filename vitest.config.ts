import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["packages/*/{src,test,simulation}/**/*.test.ts", "test/**/*.test.ts"],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // Most tests wait for sockets most of the time: two files at once, also where there are only two cores.
    maxWorkers: 2,
  },
});
