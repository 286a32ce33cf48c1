import type { RaiseReport, Raising } from '@headset-cloud/rules/raised.ts';
import { createFeedStore } from './feed.ts';

/**
 * Advances the restored database (ADR 0035): each partition of the feed starts a new epoch, so that no position is
 * assigned twice, whether the log was restored, kept or lost.
 */
export async function raiseNotifier({ store, nowMs, dryRun }: Raising): Promise<RaiseReport> {
  const feed = createFeedStore(store);
  const partitions = await feed.partitions();
  if (!dryRun) {
    for (const one of partitions) {
      await feed.renew(one, Math.max(one.epoch + 1, Math.floor(nowMs / 1000)));
    }
  }
  return { feedPartitions: partitions.length };
}
