import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { memoryState, memoryStore } from "./memory.ts";
import { stateContract } from "./state.contract.ts";

stateContract("state in memory", async () => {
  const clock = new VirtualClock();
  const store = memoryStore(clock);
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    replica: async () => memoryState(clock, store),
    pass: async (ms) => clock.advance(ms),
    async eventually(what, ask) {
      for (let i = 0; i < 1_000; i++) {
        if (await ask()) return;
        clock.advance(10);
        await turn();
      }
      throw new Error(`never: ${what}`);
    },
    drained: turn,
    close: async () => {},
  };
});
