import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { setOrLeaveOut, sharedRead } from '@headset-cloud/runtime/set-or-leave-out.ts';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { UploadStore } from './ports/upload-store.ts';
import type { CheckOutcome } from './uploads/checker.ts';

/** Outcomes of checks without a result for a file; they are not counted as checked uploads. */
const uncounted: readonly CheckOutcome['kind'][] = ['absent', 'changed', 'busy', 'waits'];

export interface MetricsDependencies {
  readonly uploads: Pick<UploadStore, 'overdue'>;
  readonly contents: { running(): number; waiting(): number };
  readonly clock: Clock;
}

/**
 * Registers the service's metrics (rule C18). Due checks are counted in the database at each scrape. Returns functions
 * that record the outcome of a check of an upload, a check that was postponed because the disk is full, and a check of
 * the storage.
 */
export function createMetrics(
  registry: Registry,
  { uploads, contents, clock }: MetricsDependencies,
): { onOutcome(outcome: CheckOutcome): void; onDiskFull(): void; onCheck(available: boolean): void } {
  const overdue = sharedRead(() => uploads.overdue(clock.now()));
  new Gauge({
    name: 'headset_updates_checks_due',
    help: 'Uploads whose next check is due and has not started. Whole platform: use max, not sum.',
    registers: [registry],
    async collect() {
      await setOrLeaveOut(this, {}, async () => (await overdue()).count);
    },
  });
  new Gauge({
    name: 'headset_updates_checks_oldest_due_age_seconds',
    help: 'How long the oldest due check has been due, in seconds; 0 when none is due. Whole platform: use max, not sum.',
    registers: [registry],
    async collect() {
      await setOrLeaveOut(this, {}, async () => {
        const { oldestDueAtMs: dueAtMs } = await overdue();
        return dueAtMs === undefined ? 0 : Math.max(0, clock.now() - dueAtMs) / 1000;
      });
    },
  });
  const checks = new Counter({
    name: 'headset_updates_checks_total',
    help: 'Uploads that were checked, by outcome: deliverable, rejected, superseded.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  // Starts each outcome at 0, because increase() ignores a series that begins with its first event.
  for (const outcome of ['deliverable', 'rejected', 'superseded']) checks.inc({ outcome }, 0);
  const rejections = new Counter({
    name: 'headset_updates_rejected_total',
    help: 'Uploads that were rejected, by the rule they break: size, not_whole, bounds (too much to unpack, too many entries, too long a check), unsafe (names that leave the package, links, entries that overlap), manifest, not_signed, split (a part of a package, or one that needs parts), other_name (another package or version), other_developer (another developer got the package in the meantime).',
    labelNames: ['rule'],
    registers: [registry],
  });
  new Gauge({
    name: 'headset_updates_checks_running',
    help: 'Uploaded files that this instance is checking now, at most UPDATES_CHECKS_AT_ONCE.',
    registers: [registry],
    collect() {
      this.set(contents.running());
    },
  });
  new Gauge({
    name: 'headset_updates_checks_waiting',
    help: 'Uploaded files that wait in this instance for a free check slot.',
    registers: [registry],
    collect() {
      this.set(contents.waiting());
    },
  });
  const postponed = new Counter({
    name: 'headset_updates_checks_postponed_total',
    help: 'Checks of uploads that were postponed because too many files waited.',
    registers: [registry],
  });
  const diskFull = new Counter({
    name: 'headset_updates_disk_full_total',
    help: 'Checks of uploads that were postponed because the disk of UPDATES_TEMP_DIR is full.',
    registers: [registry],
  });
  const unavailable = new Gauge({
    name: 'headset_updates_storage_unavailable',
    help: '1 while this instance cannot use the storage of packages and firmware (missing bucket, no answer), otherwise 0.',
    registers: [registry],
  });
  return {
    onOutcome(outcome) {
      if (outcome.kind === 'waits') postponed.inc();
      if (uncounted.includes(outcome.kind)) return;
      checks.inc({ outcome: outcome.kind });
      if (outcome.kind === 'rejected') rejections.inc({ rule: outcome.rule });
    },
    onDiskFull: () => diskFull.inc(),
    onCheck: (available) => unavailable.set(available ? 0 : 1),
  };
}
