/** Frees a slot; a second call has no effect. */
export type Release = () => void;

/** Error when too many requests already wait for the destination. */
export class NoSlotError extends Error {
  override readonly name = 'NoSlotError';
}

interface Destination {
  inFlight: number;
  readonly waiting: (() => void)[];
}

/**
 * Limits the requests in flight to one destination. Further requests wait in the order of their arrival, without a time
 * limit, up to a maximum number. A hanging destination delays only itself.
 */
export class DestinationSlots {
  readonly #destinations = new Map<string, Destination>();
  readonly #maxInFlight: number;
  readonly #maxWaiting: number;

  constructor(options: { maxInFlight: number; maxWaiting: number }) {
    this.#maxInFlight = options.maxInFlight;
    this.#maxWaiting = options.maxWaiting;
  }

  /** Rejects with NoSlotError when too many wait, and with the signal's reason when it aborts. */
  async take(key: string, signal: AbortSignal): Promise<Release> {
    signal.throwIfAborted();
    let destination = this.#destinations.get(key);
    if (!destination) {
      destination = { inFlight: 0, waiting: [] };
      this.#destinations.set(key, destination);
    }
    if (destination.inFlight < this.#maxInFlight) destination.inFlight += 1;
    else await this.#wait(destination, signal);
    return this.#release(key, destination);
  }

  /** Number of destinations with a request in flight. */
  get size(): number {
    return this.#destinations.size;
  }

  #wait(destination: Destination, signal: AbortSignal): Promise<void> {
    const { waiting } = destination;
    if (waiting.length >= this.#maxWaiting) {
      return Promise.reject(new NoSlotError('too many requests to this destination wait already'));
    }
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        waiting.splice(waiting.indexOf(go), 1);
        reject(signal.reason);
      };
      // The slot is passed to this request, so the number in flight does not change.
      const go = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      waiting.push(go);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #release(key: string, destination: Destination): Release {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const next = destination.waiting.shift();
      if (next) next();
      else if (--destination.inFlight === 0) this.#destinations.delete(key);
    };
  }
}
