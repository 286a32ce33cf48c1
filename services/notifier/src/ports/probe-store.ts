import type { Probe } from '../domain/time-limit.ts';

/**
 * Stores probes of failing destinations, for all instances and over restarts: one short list per destination instead of
 * a write for each waiting delivery.
 */
export interface ProbeStore {
  note(destination: string, probe: Probe): Promise<void>;
  /** The newest probes, oldest first. */
  recent(destination: string): Promise<readonly Probe[]>;
}
