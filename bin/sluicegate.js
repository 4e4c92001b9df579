#!/usr/bin/env node
// The command line from a clone: prepares it when needed, then hands over to the compiled gateway.
import { prepare } from "./prepare.js";

try {
  prepare();
} catch (error) {
  process.stderr.write(`sluicegate: ${error.message}\n`);
  process.exit(1);
}
await import("../packages/gateway/dist/main.js");
