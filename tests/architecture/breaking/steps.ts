import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { auditSteps } from '@headset-cloud/billing/audit/documents.ts';
import { allSteps } from '@headset-cloud/prepare/all-steps.ts';
import type { StepsByService } from './additive.ts';

/** The databases' steps of the last release (ADR 0034). */
export const releasedSteps = resolve(import.meta.dirname, '../../../services/prepare/released/steps.json');

/** Today's steps, as they are kept: plain data. */
export function stepsOfToday(): StepsByService {
  const databases = { ...allSteps, audit: auditSteps };
  const steps = Object.entries(databases).map(([name, { steps: all }]) => [name, all]);
  return JSON.parse(JSON.stringify(Object.fromEntries(steps))) as StepsByService;
}

/** The steps that databases of the last release have. */
export function stepsOfRelease(): StepsByService {
  return JSON.parse(readFileSync(releasedSteps, 'utf8')) as StepsByService;
}

/** Stores the current steps as the steps of the new release (`make contract-release`). */
export function keepSteps(): void {
  writeFileSync(releasedSteps, `${JSON.stringify(stepsOfToday(), null, 2)}\n`);
}
