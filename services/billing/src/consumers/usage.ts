import { decodeEvent } from '@headset-cloud/eventlog/decode.ts';
import { type LogEvent, NewerVersionError, PoisonEventError } from '@headset-cloud/eventlog/types.ts';
import { UsageEventSchema } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import type { Usage } from '../domain/usage.ts';
import type { BillingMetrics } from '../metrics.ts';
import type { UsageStore } from '../ports.ts';
import { usageOfMessage } from '../usage-message.ts';

/** The consumer group: each usage reaches this service once, or again after a crash. */
export const usageGroup = 'billing-usage';

/**
 * Stores usage. Idempotent by usage id. The same id with other content is an error of the publisher. Then the first
 * content is billed, and the event with the other content becomes a dead letter.
 */
export function usageHandler(
  store: Pick<UsageStore, 'record'>,
  metrics: Pick<BillingMetrics, 'usage'>,
): (events: readonly LogEvent[]) => Promise<void> {
  return async (events) => {
    const usages = events.map((event) => decode(event, metrics));
    const { added, conflicting } = await store.record(usages);
    metrics.usage('taken', added);
    if (conflicting.size === 0) return metrics.usage('duplicate', usages.length - added);
    metrics.usage('conflicting', 1);
    const index = await firstConflict(events, usages, store);
    if (index >= 0)
      throw new PoisonEventError(events[index] as LogEvent, 'the usage is known with other content');
  };
}

/**
 * Returns the index of the first conflicting event; -1 if there is none. Records the events one by one, because a batch
 * may contain the same id twice: once with the stored content, once with other content.
 */
async function firstConflict(
  events: readonly LogEvent[],
  usages: readonly Usage[],
  store: Pick<UsageStore, 'record'>,
): Promise<number> {
  for (let index = 0; index < events.length; index++) {
    const { conflicting } = await store.record([usages[index] as Usage]);
    if (conflicting.size > 0) return index;
  }
  return -1;
}

function decode(event: LogEvent, metrics: Pick<BillingMetrics, 'usage'>): Usage {
  try {
    return usageOfMessage(decodeEvent(UsageEventSchema, event));
  } catch (cause) {
    if (cause instanceof NewerVersionError) throw cause;
    metrics.usage('malformed', 1);
    throw new PoisonEventError(event, `not usage: ${(cause as Error).message}`, { cause });
  }
}
