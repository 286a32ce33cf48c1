import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { rarely } from '@headset-cloud/kit/rarely.ts';
import type { SlotCount } from '../domain/slots.ts';
import type { ActivationStore, ContractStore } from '../ports.ts';
import { settleReturn, settleTake } from './slots.ts';

export interface ReconcilerDependencies {
  readonly contracts: ContractStore;
  readonly devices: ActivationStore;
  readonly clock: Clock;
  readonly failpoints: Failpoints;
  readonly logger: Logger;
}

const contractsAtOnce = 10;

/**
 * Checks contracts that are due (rule B8, ADR 0011): completes takes and returns that calls left pending,
 * and recounts at intervals. Returns how many slots it corrected.
 */
export async function reconcileContracts(
  deps: ReconcilerDependencies,
  options: { intervalMs: number; graceMs: number },
): Promise<number> {
  const nowMs = deps.clock.now();
  const due = await deps.contracts.claimUnchecked(nowMs, nowMs + options.intervalMs, contractsAtOnce);
  let repaired = 0;
  for (const applicationId of due) {
    repaired += await settleOld(deps, applicationId, options.graceMs);
    repaired += await recount(deps, applicationId, nowMs + options.intervalMs);
  }
  return repaired;
}

/** Makes checks due that lie further ahead than a right clock writes; rarely (see `recallOverdue`). */
export function recallUnchecked(
  { contracts, clock }: Pick<ReconcilerDependencies, 'contracts' | 'clock'>,
  { intervalMs, graceMs }: { intervalMs: number; graceMs: number },
): () => Promise<void> {
  const aheadMs = 4 * Math.max(intervalMs, graceMs);
  return rarely(clock, aheadMs, () => contracts.recall(clock.now() + aheadMs, clock.now()));
}

async function settleOld(
  deps: ReconcilerDependencies,
  applicationId: string,
  graceMs: number,
): Promise<number> {
  const { contracts, clock, logger } = deps;
  const { takes = [], returns = [] } = (await contracts.count(applicationId)) ?? {};
  const nowMs = clock.now();
  // A time further ahead than the grace was written by a clock that was ahead.
  const isOld = ({ atMs }: { readonly atMs: number }) => atMs <= nowMs - graceMs || atMs > nowMs + graceMs;
  let refunded = 0;
  let left = [...takes, ...returns].filter((entry) => !isOld(entry)).map(({ atMs }) => atMs);
  for (const take of takes.filter(isOld)) {
    const outcome = await settleTake(deps, applicationId, take);
    if (outcome === 'open') left = [...left, nowMs];
    if (outcome !== 'refunded') continue;
    logger.warn({ applicationId, deviceId: take.deviceId }, 'freed a slot that no device used');
    refunded += 1;
  }
  for (const entry of returns.filter(isOld)) {
    if (!(await settleReturn(deps, applicationId, entry))) left = [...left, nowMs];
  }
  if (left.length > 0) await contracts.checkBefore(applicationId, Math.min(...left) + graceMs);
  return refunded;
}

/**
 * While nothing is pending and nothing changes, the slots in use equal the devices that have one. Another
 * count was caused by a manual change or a defect.
 */
async function recount(
  { contracts, devices, clock, logger }: ReconcilerDependencies,
  applicationId: string,
  nextAtMs: number,
): Promise<number> {
  const seen = await contracts.count(applicationId);
  if (!seen || !isQuiet(seen) || seen.recountAtMs > clock.now()) return 0;
  const slotsInUse = await devices.countSlots(applicationId);
  const wrong = Math.abs(seen.activationLimit - slotsInUse - seen.freeSlots);
  if (!(await contracts.recount(applicationId, seen, slotsInUse, nextAtMs))) return 0;
  if (wrong > 0) logger.error({ applicationId, slotsInUse, wrong }, "a contract's count of slots was wrong");
  return wrong;
}

function isQuiet({ takes, returns }: SlotCount): boolean {
  return takes.length === 0 && returns.length === 0;
}
