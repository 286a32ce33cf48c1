import type { Evidence } from './evidence.ts';
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
import { operations } from './verify/operations.ts';
import { verify } from './verify.ts';

const seeded: readonly Seeded[] = [
  ...seededTransactions,
  ...seededHeadsets,
  ...seededMedia,
  ...seededOperators,
  ...seededFeed,
];

const broken = (evidence: Evidence) =>
  verify(evidence)
    .filter((c) => c.violations.length > 0)
    .map((c) => c.name);

describe('the checks of the crash test', () => {
  it('pass for a good run', () => {
    expect(broken(goodRun())).toEqual([]);
  });

  it.each(seeded)('"%s" fails for %s', (check, _, change, alsoBroken = []) => {
    expect(broken(change(goodRun())).sort()).toEqual([check, ...alsoBroken].sort());
  });

  it('have a seeded violation each', () => {
    expect(new Set(seeded.map(([check]) => check))).toEqual(new Set(verify(goodRun()).map((c) => c.name)));
  });

  it.each(excused)('allow %s', (_, change) => {
    expect(broken(change(goodRun()))).toEqual([]);
  });

  it('allow a transaction that an earlier attempt of a refused call may have created', () => {
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

  it('expect a device to be deactivated after its activation was canceled, and allow the refusal of a deactivation', () => {
    const run = canceledActivation(goodRun());
    const applications = run.applications.map((a) => ({ ...a, slots: 0, activatedDevices: [] }));
    expect(broken({ ...run, applications, calls: [...run.calls, refusedDeactivation] })).toEqual([]);
    // An earlier activation of the same application, which was not canceled, remains in force.
    const repeated: Evidence = {
      ...run,
      calls: [call({ kind: 'activate', order: 0, transactionId: 6 }), ...run.calls],
      transactions: [listed(6, operations.activate), ...run.transactions],
      arrivals: [general(6, 'accepted', 'success'), general(6, 'processed'), ...run.arrivals],
      effects: [...run.effects, { deviceId: device, transactionId: 6, operation: operations.activate }],
    };
    expect(broken(repeated)).toEqual([]);
  });

  it('do not require an effect of a deactivation that a later activation has overtaken', () => {
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
