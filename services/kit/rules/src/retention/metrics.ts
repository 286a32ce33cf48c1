import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { setOrLeaveOut } from '@headset-cloud/runtime/set-or-leave-out.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { RetentionDocument } from './documents.ts';
import type { KeptKind } from './kinds.ts';

/** The kinds of one service. */
export interface RetentionSource {
  readonly kinds: readonly KeptKind[];
  readonly states: StoreCollection<RetentionDocument>;
  readonly clock: Clock;
}

export interface RetentionMetrics {
  deleted(kind: string, count: number): void;
}

/** The metrics of each registry: all services of a process share them. */
const shared = new WeakMap<Registry, { sources: RetentionSource[]; deleted: Counter }>();

/** Metrics of the deletion: deleted records, age of the oldest record, and the last run that found nothing more. */
export function registerRetention(registry: Registry, source: RetentionSource): RetentionMetrics {
  let metrics = shared.get(registry);
  if (!metrics) {
    metrics = create(registry);
    shared.set(registry, metrics);
  }
  const { sources, deleted } = metrics;
  sources.push(source);
  for (const { kind } of source.kinds) deleted.inc({ kind }, 0);
  return { deleted: (kind, count) => deleted.inc({ kind }, count) };
}

function create(registry: Registry): { sources: RetentionSource[]; deleted: Counter } {
  const sources: RetentionSource[] = [];
  const registers = [registry];
  const labelNames = ['kind'];
  const deleted = new Counter({
    name: 'headset_retention_deleted_total',
    help: 'Expired records that this process deleted.',
    ...{ labelNames, registers },
  });
  new Gauge({
    name: 'headset_retention_oldest_age_seconds',
    help: 'Time since the end of the oldest record that is kept; 0 when there is none. Whole platform: use max, not sum.',
    ...{ labelNames, registers },
    async collect() {
      for (const { kinds, clock } of sources) {
        for (const { kind, oldestMs } of kinds) {
          await setOrLeaveOut(this, { kind }, async () => {
            const at = await oldestMs();
            return at === undefined ? 0 : Math.max(0, clock.now() - at) / 1000;
          });
        }
      }
    },
  });
  new Gauge({
    name: 'headset_retention_completed_timestamp_seconds',
    help: 'When a run last found nothing more to delete; 0 before the first. Whole platform: use max, not sum.',
    ...{ labelNames, registers },
    async collect() {
      for (const { kinds, states } of sources) {
        for (const { kind } of kinds) {
          await setOrLeaveOut(this, { kind }, async () => {
            const state = await states.findOne({ _id: kind }, { projection: { completedAtMs: 1 } });
            return (state?.completedAtMs ?? 0) / 1000;
          });
        }
      }
    },
  });
  return { sources, deleted };
}
