/** A repeatable source of chance: the same seed gives the same choices. */
export interface Seeded {
    /** In [0, 1). */
    float(): number;
    /** A whole number from `from` to `to`, both included. */
    int(from: number, to: number): number;
    pick<T>(from: readonly T[]): T;
}
/** Mulberry32. */
export declare function seeded(seed: number): Seeded;
