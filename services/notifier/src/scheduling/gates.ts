import { Gate, type GateRules } from '../domain/gate.ts';
import type { Lane } from './lane.ts';
import type { Probes } from './probes.ts';

/** A destination's gate, and the lanes whose address leads there now. */
export interface SharedGate {
  readonly gate: Gate;
  readonly probes: Probes;
  readonly lanes: Set<Lane>;
}

/** A failing destination's state is forgotten when nothing went there for so long. */
const forgetAfterMs = 3_600_000;

/** The gates of all destinations: origin and application (rule B10). */
export class Gates {
  readonly #gates = new Map<string, SharedGate>();
  readonly #rules: GateRules;
  readonly #probesOf: (destination: string) => Probes;

  constructor(rules: GateRules, probesOf: (destination: string) => Probes) {
    this.#rules = rules;
    this.#probesOf = probesOf;
  }

  /** A gate of a lane's own, until its address is known. */
  unknown(): SharedGate {
    return this.#make('');
  }

  get(applicationId: string, origin: string): SharedGate {
    const key = `${applicationId} ${origin}`;
    let shared = this.#gates.get(key);
    if (!shared) {
      shared = this.#make(key);
      this.#gates.set(key, shared);
    }
    return shared;
  }

  #make(key: string): SharedGate {
    return { gate: new Gate(this.#rules), probes: this.#probesOf(key), lanes: new Set() };
  }

  /** Forgets gates that no lane uses and that have nothing to tell. */
  tidy(nowMs = performance.now()): void {
    for (const [key, { gate, lanes }] of this.#gates) {
      const idle = lanes.size === 0 && gate.inFlight === 0;
      if (idle && (!gate.failing || gate.closedUntilMs < nowMs - forgetAfterMs)) this.#gates.delete(key);
    }
  }
}
