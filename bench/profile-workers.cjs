// Loaded by node before the gateway when profile.mjs runs it: worker threads get the profiler's options, too.
const threads = require("node:worker_threads");
const { syncBuiltinESMExports } = require("node:module");

const profiling = process.execArgv.filter((argument) => argument.startsWith("--cpu-prof"));
threads.Worker = class extends threads.Worker {
  constructor(file, options = {}) {
    super(file, { ...options, execArgv: [...(options.execArgv ?? []), ...profiling] });
  }
};
syncBuiltinESMExports();
