import type { Clock, Timer } from "../../src/core/clock.ts";
/** Time that moves only when a test says so. Timers fire in the order of their due times, then of their making. */
export declare class VirtualClock implements Clock {
    #private;
    constructor(epoch?: number);
    now(): number;
    monotonic(): number;
    after(ms: number, fn: () => void): Timer;
    /** Timers that have neither fired nor been called off: what a test of leaks looks at. */
    get timers(): number;
    /** Moves time on, firing what falls due on the way at its own time. */
    advance(ms: number): void;
}
