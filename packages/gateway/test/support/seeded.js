/** Mulberry32. */
export function seeded(seed) {
    let state = seed >>> 0;
    const float = () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let mixed = Math.imul(state ^ (state >>> 15), state | 1);
        mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
    return {
        float,
        int: (from, to) => from + Math.floor(float() * (to - from + 1)),
        pick(from) {
            return from[Math.floor(float() * from.length)];
        },
    };
}
//# sourceMappingURL=seeded.js.map