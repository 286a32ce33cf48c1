import { Counter, type Registry } from 'prom-client';
import type { RunOutcome } from './recordings/runner.ts';
import type { Receipt } from './webhook/receive.ts';

export interface CommunicationMetrics {
  webhook(outcome: Receipt | 'refused'): void;
  recording(outcome: RunOutcome['end']): void;
}

/** What this service counts. */
export function createMetrics(registry: Registry): CommunicationMetrics {
  const webhooks = new Counter({
    name: 'communication_sora_webhooks_total',
    help: "Sora's webhooks by what became of them.",
    labelNames: ['outcome'],
    registers: [registry],
  });
  const recordings = new Counter({
    name: 'communication_recordings_total',
    help: 'Recordings that have ended, by their end.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return {
    webhook: (outcome) => webhooks.inc({ outcome }),
    recording: (outcome) => recordings.inc({ outcome }),
  };
}
