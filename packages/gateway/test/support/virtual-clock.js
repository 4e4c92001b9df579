/** Time that moves only when a test says so. Timers fire in the order of their due times, then of their making. */
export class VirtualClock {
    #elapsed = 0;
    #order = 0;
    #epoch;
    #pending = new Set();
    constructor(epoch = Date.UTC(2026, 10, 29)) {
        this.#epoch = epoch;
    }
    now() {
        return this.#epoch + this.#elapsed;
    }
    monotonic() {
        return this.#elapsed;
    }
    after(ms, fn) {
        const entry = { at: this.#elapsed + Math.max(0, ms), order: this.#order++, fn };
        this.#pending.add(entry);
        return { cancel: () => void this.#pending.delete(entry) };
    }
    /** Timers that have neither fired nor been called off: what a test of leaks looks at. */
    get timers() {
        return this.#pending.size;
    }
    /** Moves time on, firing what falls due on the way at its own time. */
    advance(ms) {
        const until = this.#elapsed + ms;
        for (let next = this.#next(until); next; next = this.#next(until)) {
            this.#pending.delete(next);
            this.#elapsed = Math.max(this.#elapsed, next.at);
            next.fn();
        }
        this.#elapsed = until;
    }
    #next(until) {
        let first;
        for (const entry of this.#pending) {
            if (entry.at > until)
                continue;
            if (!first || entry.at < first.at || (entry.at === first.at && entry.order < first.order))
                first = entry;
        }
        return first;
    }
}
//# sourceMappingURL=virtual-clock.js.map