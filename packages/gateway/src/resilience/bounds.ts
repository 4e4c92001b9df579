/** Keys that no config names and that are counted at once: above, calls to others go uncounted. */
export const HEALTH_KEYS_MAX = 10_000;
/** A probe's place is held for so long at a time, and renewed meanwhile: a replica that dies frees it by that. */
export const PROBE_LEASE_MS = 30_000;
export const PROBE_RENEW_MS = 10_000;
/** A probe that has not ended by then is taken for lost. */
export const PROBE_MS_MAX = 900_000;
/** How long the other replicas are asked for a probe's place before this one decides alone. */
export const PROBE_ASK_MS_MAX = 250;
/** While another's probe is out, how soon a call may ask again. */
export const PROBE_LOOK_MS = 1_000;
/** When nobody knows when: epoch ms that is still a date, and a number in JSON. */
export const NEVER_MS = 8.64e15;
