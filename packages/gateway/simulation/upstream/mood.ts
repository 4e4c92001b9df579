import type { Chance } from "../core/chance.ts";
import type { Act, ActKind, RetryHint } from "./act.ts";

/** How an upstream behaves for a while. */
type Mood = keyof typeof MOODS;

/** Weights of what it does with a call. */
type Weights = Readonly<Partial<Record<ActKind, number>>>;

/** Good answers of every kind that is one. */
const GOOD: Weights = { answer: 20, no_usage: 1, no_done: 1, late_close: 1, cut_short: 1, filtered: 1 };

const MOODS = {
  well: GOOD,
  flaky: {
    ...GOOD,
    ...{ fault: 3, reset: 2, refused: 2, cut: 2, eof: 1, garbage: 1, html: 1, empty: 1, error_first: 2, error_mid: 1 },
  },
  limited: { limited: 6, answer: 2 },
  overloaded: { overloaded: 6, error_first: 2, answer: 1 },
  down: { overloaded: 1, fault: 2 },
  dead: { refused: 4, unreachable: 1 },
  hanging: { mute: 4, mute_body: 1, stall: 1 },
  slow: { answer: 1 },
  stingy: { quota: 3, auth: 1, gone: 1, answer: 1 },
  picky: { ...GOOD, filter: 4, overflow: 2, bad: 3 },
} as const satisfies Record<string, Weights>;

/** What an upstream is like over time: each mood until its moment, the last one to the end. */
interface Weather {
  moods: readonly { untilMs: number; mood: Mood }[];
  /** How quick it is when it is well: to the head, to the first word, from word to word, ms. */
  speed: { headMs: number; firstMs: number; paceMs: number };
}

/** Weather for a run of so many ms: mostly good, with spells of anything, or one that comes and goes; in a storm mostly bad. */
export function weatherOf(chance: Chance, horizonMs: number, stormy: boolean): Weather {
  const moods: { untilMs: number; mood: Mood }[] = [];
  const bad = (): Mood =>
    chance.weighted({
      ...{ flaky: 4, limited: 3, overloaded: 2, down: 3, dead: 2, hanging: 2, slow: 2, stingy: 1, picky: 1 },
    });
  const flaps = chance.yes(0.15);
  let atMs = 0;
  let good = chance.yes(stormy ? 0.2 : 0.7);
  while (atMs < horizonMs) {
    const spell = flaps ? chance.between(1_000, 12_000) : chance.between(5_000, horizonMs);
    atMs += good ? spell : spell / 2;
    moods.push({ untilMs: atMs, mood: good ? "well" : bad() });
    good = !good;
  }
  return {
    moods,
    speed: {
      headMs: chance.between(1, 200),
      firstMs: chance.between(20, 1_500),
      paceMs: chance.between(1, 80),
    },
  };
}

/** What it does with the next call. `wants`: what the request itself brings about, whoever is asked. */
export function nextAct(weather: Weather, atMs: number, chance: Chance, wants: ActKind | null, words: number): Act {
  const mood = moodAt(weather, atMs);
  const kind = wants ?? chance.weighted<ActKind>(MOODS[mood]);
  const { headMs, firstMs, paceMs } = weather.speed;
  const slowness = mood === "slow" ? chance.between(4, 40) : 1;
  return {
    kind,
    // Some are there at once.
    connectMs: chance.yes(0.2) ? 0 : chance.between(0.5, 50),
    headMs: headMs * chance.between(0.5, 1.5),
    firstMs: firstMs * chance.between(0.5, 2) * slowness,
    words,
    paceMs: paceMs * chance.between(0.5, 1.5) * (mood === "slow" && chance.yes(0.5) ? slowness : 1),
    breaksAfter: chance.int(0, Math.max(0, words - 1)),
    hint: chance.weighted<RetryHint>({ none: 3, seconds: 3, date: 1, ms: 2 }),
    hintMs: chance.yes(0.2) ? chance.between(20_000, 90_000) : chance.between(100, 8_000),
    packets: chance.weighted({ events: 3, halves: 1, bursts: 1 }),
  };
}

function moodAt({ moods }: Weather, atMs: number): Mood {
  return (moods.find(({ untilMs }) => atMs < untilMs) ?? moods[moods.length - 1])?.mood ?? "well";
}
