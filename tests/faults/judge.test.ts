import type { Evidence } from './evidence.ts';
import { operations } from './judge/operations.ts';
import { judge } from './judge.ts';
import {
  call,
  canceledActivation,
  device,
  general,
  goodRun,
  listed,
  notActivated,
  refusedDeactivation,
  type Seeded,
} from './testing/good-run.ts';
import { seededFeed } from './testing/seeded-feed.ts';
import { seededHeadsets } from './testing/seeded-headsets.ts';
import { seededMedia } from './testing/seeded-media.ts';
import { excused, seededOperators } from './testing/seeded-operators.ts';
import { seededTransactions } from './testing/seeded-transactions.ts';

const seeded: readonly Seeded[] = [
  ...seededTransactions,
  ...seededHeadsets,
  ...seededMedia,
  ...seededOperators,
  ...seededFeed,
];

const broken = (evidence: Evidence) =>
  judge(evidence)
    .filter((c) => c.violations.length > 0)
    .map((c) => c.name);

describe('the judge', () => {
  it('finds nothing in a good run', () => {
    expect(broken(goodRun())).toEqual([]);
  });

  it.each(seeded)('breaks "%s" for %s', (check, _, change, alsoBroken = []) => {
    expect(broken(change(goodRun())).sort()).toEqual([check, ...alsoBroken].sort());
  });

  it('has a seeded violation for every check', () => {
    expect(new Set(seeded.map(([check]) => check))).toEqual(new Set(judge(goodRun()).map((c) => c.name)));
  });

  it.each(excused)('allows %s', (_, change) => {
    expect(broken(change(goodRun()))).toEqual([]);
  });

  it('allows a transaction that an earlier attempt of a refused call may have made', () => {
    const run = goodRun();
    const refused = call({ kind: 'command', order: 8, status: 403, attempts: 2, message: notActivated });
    expect(
      broken({
        ...run,
        calls: [...run.calls, refused],
        transactions: [...run.transactions, listed(4, operations.command)],
        arrivals: [...run.arrivals, general(4, 'processed', 'failure', 'no')],
      }),
    ).toEqual([]);
  });

  it('expects a device whose activation was canceled to be deactivated, and allows that a deactivation is refused', () => {
    const run = canceledActivation(goodRun());
    const applications = run.applications.map((a) => ({ ...a, slots: 0, activatedDevices: [] }));
    expect(broken({ ...run, applications, calls: [...run.calls, refusedDeactivation] })).toEqual([]);
    // An earlier activation by the same application that was not canceled stands.
    const repeated: Evidence = {
      ...run,
      calls: [call({ kind: 'activate', order: 0, transactionId: 6 }), ...run.calls],
      transactions: [listed(6, operations.activate), ...run.transactions],
      arrivals: [general(6, 'accepted', 'success'), general(6, 'processed'), ...run.arrivals],
      effects: [...run.effects, { deviceId: device, transactionId: 6, operation: operations.activate }],
    };
    expect(broken(repeated)).toEqual([]);
  });

  it('does not require an effect of a deactivation that a later activation has overtaken', () => {
    const run = goodRun();
    const overtaken: Evidence = {
      ...run,
      calls: [call({ kind: 'deactivate', order: 0, transactionId: 0 }), ...run.calls],
      transactions: [listed(0, operations.deactivate), ...run.transactions],
      arrivals: [general(0, 'accepted'), general(0, 'processed'), ...run.arrivals],
    };
    expect(broken(overtaken)).toEqual([]);
  });
});
