import type { FailpointStep, Round } from './fault.ts';
import type { Check } from './judge/check.ts';
import { discard, type RunOptions, run } from './run.ts';

/** Runs with one safeguard left out: the judge must find what that costs. */
interface Sabotage {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly rounds: readonly Round[];
  readonly load: RunOptions['load'];
  readonly effectMs: number;
  /** The check that must be broken. */
  readonly finds: string;
}

const at = (name: string, count: number): FailpointStep => ({ process: 'platform', name, count });
const dies = (...steps: FailpointStep[]): Round => ({ fault: { kind: 'failpoint', steps }, restMs: 200 });
const quietRound = (restMs: number): Round => ({
  fault: { kind: 'headsets', process: 'headsets-2' },
  restMs,
});

const sabotages: readonly Sabotage[] = [
  {
    name: 'without the sweeper it finds a lost callback',
    env: { TRANSACTIONS_UNSAFE_SWITCHES: 'no-sweeper' },
    rounds: [
      dies(at('transactions.finished', 1), at('transactions.changed', 2)),
      dies(at('transactions.finished', 2), at('transactions.inserted', 1)),
      dies(at('transactions.finished', 1), at('transactions.finished', 3)),
      dies(at('transactions.finished', 1), at('transactions.finished', 2)),
    ],
    load: { commanders: 3, cancelAwayShare: 0, pauseMs: 160 },
    effectMs: 0,
    finds: 'every transaction has one end callback, which agrees with its state',
  },
  {
    name: 'without the start permit it finds a canceled operation that took effect',
    env: { TRANSACTIONS_UNSAFE_SWITCHES: 'no-start-permit' },
    // The load does it: headsets go away while they work, and their commands are canceled.
    rounds: [quietRound(3000), quietRound(3000)],
    load: { commanders: 4, cancelAwayShare: 0.6, pauseMs: 80 },
    effectMs: 200,
    finds: 'nothing that was told canceled took effect',
  },
  {
    name: 'without the memory of known usage it finds usage that is recorded twice',
    env: { BILLING_UNSAFE_SWITCHES: 'no-idempotence' },
    // What was recorded when the process died comes from the log again.
    rounds: [dies(at('billing.usageOnSheet', 1))],
    load: { commanders: 1, cancelAwayShare: 0, pauseMs: 80 },
    effectMs: 0,
    finds: 'every use is recorded once',
  },
  {
    name: 'with an hour in place of 72 it finds a callback that is given up too early',
    env: { NOTIFIER_MAX_AGE_HOURS: '1' },
    rounds: [
      {
        // What it takes in while its clock is behind is two hours old when the clock is right, and still fails.
        fault: { kind: 'backlog', tenant: 0, reports: 200, forMs: 6000 },
        beside: { kind: 'clock', process: 'platform', stepMs: -2 * 3_600_000, forMs: 2500, killed: false },
        restMs: 200,
      },
    ],
    load: { commanders: 1, cancelAwayShare: 0, pauseMs: 160 },
    effectMs: 0,
    finds: 'a callback is given up after 72 h and 10 attempts only',
  },
];

/** Each answer is a check that passes when the sabotaged run was found out. */
export async function showThatItCanFail(seed: number, say: (line: string) => void): Promise<Check[]> {
  const checks: Check[] = [];
  for (const s of sabotages) {
    const result = await run({
      kind: 'embedded',
      seed,
      rounds: () => s.rounds,
      env: s.env,
      instances: 1,
      load: s.load,
      effectMs: s.effectMs,
      settleMs: 5000,
      say: (line) => say(`  ${line}`),
    });
    const found = result.checks.find((c) => c.name === s.finds);
    const missed = !found || found.violations.length === 0;
    checks.push({
      name: `${s.name} (${found?.violations.length ?? 0})`,
      violations: missed ? [`the judge did not break "${s.finds}"; kept: ${result.dataDir}`] : [],
    });
    if (!missed) discard(result);
  }
  return checks;
}
