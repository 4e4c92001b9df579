/** Asks again every 10 ms until the answer is neither null, undefined nor false; fails, saying what it waited for. */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  deadlineMs = 10_000,
): Promise<Exclude<T, false | null | undefined>> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== false && answer !== null && answer !== undefined)
      return answer as Exclude<T, false | null | undefined>;
    if (Date.now() > end) throw new Error(`waited ${deadlineMs} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
