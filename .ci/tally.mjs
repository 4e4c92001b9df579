// `tally.mjs failed RESULTS`: the files of a run that failed, one a line; nothing when there are more than three.
// `tally.mjs sum RESULTS…`: the last line of CI. Results named X-alone.json replace those files in X.json.
import { existsSync, readFileSync } from "node:fs";

/** More failures than this are no accident of a busy machine. */
const ALONE_MAX = 3;

const [, , task, ...paths] = process.argv;
const read = (path) => JSON.parse(readFileSync(path, "utf8")).testResults;
const failedIn = (files) => files.filter((file) => file.status === "failed").map((file) => file.name);

if (task === "failed") {
  const failed = failedIn(read(paths[0]));
  if (failed.length <= ALONE_MAX) console.log(failed.join("\n"));
} else {
  const count = { passed: 0, failed: 0, skipped: 0 };
  for (const path of paths) {
    const alonePath = path.replace(/\.json$/, "-alone.json");
    const alone = existsSync(alonePath) ? read(alonePath) : [];
    for (const file of alone) console.log(`failed once, run again alone: ${file.name}: ${file.status}`);
    const again = new Set(alone.map((file) => file.name));
    for (const file of [...read(path).filter(({ name }) => !again.has(name)), ...alone]) add(count, file);
  }
  console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
  process.exitCode = count.failed > 0 || count.passed === 0 ? 1 : 0;
}

function add(count, file) {
  let failedHere = 0;
  for (const test of file.assertionResults) {
    if (test.status === "passed") count.passed++;
    else if (test.status === "failed") failedHere++;
    else {
      count.skipped++;
      console.log(`skipped: ${test.fullName}`);
    }
  }
  // A file that did not even load counts as one failure.
  count.failed += file.status === "failed" ? Math.max(1, failedHere) : failedHere;
}
