import { Counter, type Registry } from 'prom-client';
import type { CheckOutcome } from './uploads/checker.ts';

/** Counts what looks at uploads found; those that found nothing are left out. */
export function checkCounter(registry: Registry): (outcome: CheckOutcome['kind']) => void {
  const checks = new Counter({
    name: 'headset_updates_checks_total',
    help: 'Uploads that were checked, by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return (outcome) => {
    if (outcome !== 'absent' && outcome !== 'busy') checks.inc({ outcome });
  };
}
