import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import type { Round } from './fault.ts';
import type { Mutation } from './inside/environment.ts';
import type { LoadOptions } from './load/target.ts';
import type { Amount } from './run.ts';

/** One safeguard of the product, the change that removes it, and the check that must then fail. */
export interface Safeguard {
  readonly name: string;
  readonly mutations?: readonly Mutation[];
  readonly env?: Readonly<Record<string, string>>;
  /** Name of the check that must fail. */
  readonly finds: string;
}

/** A run with several removed safeguards, each of which violates a different promise. */
export interface MutationRun {
  readonly stack: StackKind;
  readonly removed: readonly Safeguard[];
  readonly rounds: readonly Round[];
  readonly load: LoadOptions;
  readonly atLeast?: Amount;
  readonly effectMs: number;
}

const dies = (...at: string[]): Round => ({
  fault: { kind: 'crash', steps: at.map((one) => ({ process: 'platform', at: one })) },
  restMs: 200,
});
const ended = (count: number) => `after store transactions.transactions.end ${count}`;
const headsetsDie = (restMs: number): Round => ({
  fault: { kind: 'headsets', process: 'headsets-2' },
  restMs,
});
const freezes = (process: string): Round => ({
  fault: { kind: 'freeze', process, forMs: 3500 },
  restMs: 500,
});

const sweeper: Safeguard = {
  name: 'without the sweeper it finds a lost callback',
  mutations: [{ file: 'services/transactions/src/build.ts', from: 'await sweeper.start();', to: '' }],
  finds: 'every transaction has one end callback, which agrees with its state',
};

const startGrant: Safeguard = {
  name: 'without the start grant it finds a canceled operation that took effect',
  mutations: [
    {
      file: 'services/transactions/src/dispatch/start-grant.ts',
      from: 'if (await accept()) return start;',
      to: 'return start;',
    },
  ],
  finds: 'no transaction reported as canceled took effect',
};

const revocation: Safeguard = {
  name: 'without a revoke at the headset it finds a canceled operation that took effect',
  mutations: [
    {
      file: 'services/transactions/src/domain/online.ts',
      from: "!mayHaveStarted(t, session) || (held === 'offered' && !mayRunHere(t, session))",
      to: 'true',
    },
  ],
  finds: 'no transaction reported as canceled took effect',
};

const knownUsage: Safeguard = {
  name: 'without deduplication of usage it finds usage that is recorded twice',
  mutations: [
    {
      file: 'services/billing/src/usage-message.ts',
      from: 'return requireUsage({\n    usageId,',
      to: 'return requireUsage({\n    usageId: crypto.randomUUID(),',
    },
  ],
  finds: 'every use is recorded once',
};

const wholeAge: Safeguard = {
  name: 'with 1 h instead of 72 h it finds a callback that is given up too early',
  // Short backoff: ten attempts take only a short time.
  env: { NOTIFIER_MAX_AGE_HOURS: '1', NOTIFIER_BACKOFF_MAX_MS: '100', NOTIFIER_PROBE_MAX_MS: '100' },
  finds: 'no callback is given up too early (before 72 h and 10 attempts, or 96 h)',
};

const reportOrder: Safeguard = {
  name: 'without the order of reports it finds notifications that overtake earlier ones',
  mutations: [
    {
      file: 'services/notifier/src/domain/chain.ts',
      from: "delivery.order !== 'none' && !alone",
      to: "delivery.order === 'ended' && !alone",
    },
    {
      file: 'services/notifier/src/scheduling/readiness.ts',
      from: 'if (waitMs > 0',
      // Some requests take longer, as in a real network.
      to: "if (order === 'tried') await new Promise((go) => setTimeout(go, 50 * Math.random()));\n    if (order === 'ended' && waitMs > 0",
    },
  ],
  finds: 'a headset’s notifications first arrive in the order of its reports',
};

// Two safeguards hide a location from the next customer: a deactivation deletes the location, and an application reads
// only values of its own activation. Each safeguard is sufficient, so both are removed.
const ownActivation: Safeguard = {
  name: 'without the activation epoch of reports and the deletion it finds state of another customer',
  mutations: [
    {
      file: 'services/devices/src/store/activations.ts',
      from: ", 'reported.location': '' as const },",
      to: ' },',
    },
    {
      file: 'services/devices/src/device-status.ts',
      from: 'activation ? readableSince(reported, activation.sinceEpoch) : {}',
      to: 'reported',
    },
  ],
  finds: 'no state of an earlier activation is readable',
};

const sessionReconciliation: Safeguard = {
  name: 'without repeated reconciliation of sessions it finds work that waits for a reconnect',
  mutations: [
    {
      file: 'services/device-link/src/presence/reconciler.ts',
      from: 'void session.reconcile();',
      to: 'void session;',
    },
  ],
  finds: 'nothing is unfinished at the end',
};

/** All runs with removed safeguards. Each safeguard is removed once. */
export const mutationRuns: readonly MutationRun[] = [
  {
    stack: 'embedded',
    removed: [sweeper],
    rounds: [
      dies(ended(1), 'before log transactions.notifications 2'),
      dies(ended(2), 'after store transactions.transactions.createdAt'),
      dies(ended(1), ended(3)),
      dies(ended(1), ended(2)),
    ],
    load: { commanders: 3, cancelAwayShare: 0, pairShare: 0.04, pauseMs: 160 },
    effectMs: 0,
  },
  {
    stack: 'embedded',
    removed: [startGrant, knownUsage, ownActivation],
    // The load violates the first promise (headsets disconnect while they work, and their commands are canceled) and
    // the last (a headset is handed over between customers). After the crash, the log delivers recorded usage again.
    rounds: [headsetsDie(3000), headsetsDie(3000), dies('after store billing.sheets')],
    load: { commanders: 4, cancelAwayShare: 0.6, pairShare: 0, pauseMs: 80 },
    atLeast: { calls: 120, readings: 60 },
    effectMs: 200,
  },
  {
    stack: 'embedded',
    removed: [revocation],
    // The load alone is sufficient: it sends two equal operations at once and cuts the connection while they run.
    rounds: [headsetsDie(3000), headsetsDie(3000), headsetsDie(3000)],
    load: { commanders: 4, cancelAwayShare: 0, pairShare: 0.7, pauseMs: 80 },
    atLeast: { calls: 400, readings: 0 },
    effectMs: 400,
  },
  {
    stack: 'embedded',
    removed: [wholeAge],
    rounds: [
      {
        // A delivery that is accepted with the clock set back is two hours old when the clock is corrected.
        fault: { kind: 'backlog', tenant: 0, reports: 200, forMs: 10_000 },
        beside: { kind: 'clock', process: 'platform', stepMs: -2 * 3_600_000, forMs: 5000, killed: false },
        restMs: 200,
      },
    ],
    load: { commanders: 1, cancelAwayShare: 0, pairShare: 0.04, pauseMs: 160 },
    effectMs: 0,
  },
  {
    stack: 'real',
    removed: [sessionReconciliation, reportOrder],
    // While one instance is frozen beyond its lease, the other treats its headsets as disconnected.
    rounds: [freezes('device-link'), freezes('device-link-2'), freezes('device-link')],
    load: { commanders: 4, cancelAwayShare: 0, pairShare: 0.04, pauseMs: 80 },
    effectMs: 0,
  },
];
