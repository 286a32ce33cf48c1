import type { Arrival, CallRecord, Evidence } from './evidence.ts';
import { canceledByRequest, judge, operations } from './judge.ts';

const app = 'app-1';
const device = 'device-1';
const notActivated = 'The device is not activated.';

const call = (more: Partial<CallRecord> & Pick<CallRecord, 'kind' | 'order'>): CallRecord => ({
  key: `key-${more.order}`,
  applicationId: app,
  deviceId: device,
  attempts: 1,
  status: 201,
  ...more,
});
const subject = (transactionId: number) => ({
  transactionId,
  applicationId: app,
  deviceId: device,
  operationId:
    transactionId === 0
      ? operations.deactivate
      : transactionId === 1
        ? operations.activate
        : operations.command,
});
const general = (
  id: number,
  type: 'accepted' | 'processed',
  result = 'success',
  message = 'called',
): Arrival => ({
  webhookId: `tx-${id}-${type}-${result}`,
  verified: true,
  body: { ...subject(id), notificationType: type, result, message },
});
const answer = (id: number): Arrival => ({
  webhookId: `tx-${id}-answer`,
  verified: true,
  body: { ...subject(id), process: 'processed', success: true },
});
const listed = (transactionId: number, operationId: string, transactionStatus = 'processed') => ({
  applicationId: app,
  deviceId: device,
  transactionId,
  operationId,
  transactionStatus,
});

/** An activation (1), a command that is answered by its app (2) and one that is canceled (3). */
function goodRun(): Evidence {
  return {
    calls: [
      call({ kind: 'activate', order: 1, transactionId: 1 }),
      call({ kind: 'command', order: 2, transactionId: 2 }),
      call({ kind: 'command', order: 3, transactionId: 3 }),
      call({ kind: 'cancel', order: 4, status: 200, canceledIds: [3] }),
      call({ kind: 'settings', order: 5, status: 200, setting: { field: 'soraEvent', value: 'a' } }),
      call({ kind: 'settings', order: 6, status: 200, setting: { field: 'soraEvent', value: 'b' } }),
      call({ kind: 'command', order: 7, status: 403, message: notActivated }),
    ],
    transactions: [
      listed(1, operations.activate),
      listed(2, operations.command),
      listed(3, operations.command, 'canceled'),
    ],
    arrivals: [
      general(1, 'accepted'),
      general(1, 'processed'),
      general(2, 'accepted'),
      general(2, 'processed'),
      general(2, 'accepted'),
      answer(2),
      general(3, 'processed', 'failure', canceledByRequest),
    ],
    effects: [
      { deviceId: device, transactionId: 1 },
      { deviceId: device, transactionId: 2 },
    ],
    settings: [{ applicationId: app, field: 'soraEvent', value: 'b' }],
    applications: [{ applicationId: app, slots: 1, activatedDevices: [device], devices: [device] }],
    answeringDevices: [device],
    unfinished: [],
    ownDeaths: [],
  };
}

const broken = (evidence: Evidence) =>
  judge(evidence)
    .filter((c) => c.violations.length > 0)
    .map((c) => c.name);

const without = <T>(list: readonly T[], test: (item: T) => boolean) => list.filter((item) => !test(item));
const swapStatus = (e: Evidence, id: number, transactionStatus: string): Evidence => ({
  ...e,
  transactions: e.transactions.map((t) => (t.transactionId === id ? { ...t, transactionStatus } : t)),
});

/** Each check with the runs that break it, and what else such a run breaks. */
const seeded: [check: string, what: string, change: (e: Evidence) => Evidence, alsoBroken?: string[]][] = [
  [
    'in the end nothing is left unfinished',
    'a pending callback',
    (e) => ({ ...e, unfinished: ['callback'] }),
  ],
  ['no process ends by itself', 'an exit', (e) => ({ ...e, ownDeaths: ['devices'] })],
  [
    'every call is answered, and refused only for cause',
    'a call without an answer',
    (e) => ({ ...e, calls: [...e.calls, call({ kind: 'command', order: 8, status: 0 })] }),
  ],
  [
    'every call is answered, and refused only for cause',
    'a refusal that nothing explains',
    (e) => ({ ...e, calls: [...e.calls, call({ kind: 'command', order: 8, status: 404 })] }),
  ],
  [
    'every 201’s transaction exists',
    'a transaction that is gone',
    (e) => ({ ...e, calls: [...e.calls, call({ kind: 'command', order: 8, transactionId: 9 })] }),
  ],
  [
    'every 201’s transaction exists',
    'a transaction of another operation',
    (e) => ({
      ...e,
      calls: e.calls.map((c) => (c.transactionId === 2 ? { ...c, kind: 'deactivate' as const } : c)),
    }),
    ['activations stand as acknowledged'],
  ],
  ['every transaction has an end state', 'one that is accepted', (e) => swapStatus(e, 1, 'accepted')],
  [
    'every transaction has one end callback, which agrees with its state',
    'a lost callback',
    (e) => ({ ...e, arrivals: without(e.arrivals, (a) => a.webhookId === 'tx-1-processed-success') }),
  ],
  [
    'every transaction has one end callback, which agrees with its state',
    'a state that the callback contradicts',
    (e) => swapStatus(e, 3, 'processed'),
  ],
  [
    'every transaction has one end callback, which agrees with its state',
    'a callback about a transaction that is not there',
    (e) => ({ ...e, arrivals: [...e.arrivals, general(9, 'accepted')] }),
  ],
  [
    'every transaction has one end callback, which agrees with its state',
    'two ends',
    (e) => ({ ...e, arrivals: [...e.arrivals, general(1, 'processed', 'failure', 'no')] }),
    ['callbacks first arrive in the order accepted, end, answer'],
  ],
  [
    'every callback is signed',
    'a callback with a wrong signature',
    (e) => ({ ...e, arrivals: [...e.arrivals, { ...general(1, 'accepted'), verified: false }] }),
  ],
  [
    'every callback names its transaction’s device and operation',
    'a callback with another device',
    (e) => ({
      ...e,
      arrivals: e.arrivals.map((a) => ({ ...a, body: { ...a.body, deviceId: 'device-2' } })),
    }),
  ],
  [
    'every call is answered, and refused only for cause',
    'an activation that is refused',
    (e) => ({
      ...e,
      calls: [...e.calls, call({ kind: 'activate', order: 8, status: 403, message: notActivated })],
    }),
  ],
  [
    'callbacks first arrive in the order accepted, end, answer',
    'an end before its beginning',
    (e) => ({ ...e, arrivals: [general(1, 'processed'), ...e.arrivals] }),
  ],
  [
    'every app’s answer arrives',
    'a lost answer',
    (e) => ({ ...e, arrivals: without(e.arrivals, (a) => a.webhookId === 'tx-2-answer') }),
  ],
  [
    'no transaction takes effect twice',
    'a second effect',
    (e) => ({ ...e, effects: [...e.effects, { deviceId: device, transactionId: 2 }] }),
  ],
  [
    'every success took effect',
    'a success without an effect',
    (e) => ({ ...e, effects: without(e.effects, (x) => x.transactionId === 2) }),
  ],
  [
    'nothing canceled by request took effect',
    'an effect of a canceled transaction',
    (e) => ({ ...e, effects: [...e.effects, { deviceId: device, transactionId: 3 }] }),
  ],
  [
    'cancel answers name exactly what they canceled',
    'a canceled transaction that no answer names',
    (e) => ({ ...e, calls: e.calls.map((c) => (c.kind === 'cancel' ? { ...c, canceledIds: [] } : c)) }),
  ],
  [
    'cancel answers name exactly what they canceled',
    'a name of what was not canceled',
    (e) => ({ ...e, calls: e.calls.map((c) => (c.kind === 'cancel' ? { ...c, canceledIds: [2, 3] } : c)) }),
  ],
  [
    'one Idempotency-Key makes one transaction',
    'a transaction that no call explains',
    (e) => ({
      ...e,
      transactions: [...e.transactions, listed(4, operations.command, 'canceled')],
      arrivals: [...e.arrivals, general(4, 'processed', 'failure', canceledByRequest)],
      calls: e.calls.map((c) => (c.kind === 'cancel' ? { ...c, canceledIds: [3, 4] } : c)),
    }),
  ],
  [
    'one Idempotency-Key makes one transaction',
    'one transaction for two calls',
    (e) => ({ ...e, calls: [...e.calls, call({ kind: 'command', order: 8, transactionId: 2 })] }),
  ],
  [
    'no acknowledged setting is lost',
    'an older value',
    (e) => ({ ...e, settings: [{ applicationId: app, field: 'soraEvent', value: 'a' }] }),
  ],
  [
    'the slots in use are the devices activated',
    'a slot too many',
    (e) => ({ ...e, applications: e.applications.map((a) => ({ ...a, slots: 2 })) }),
  ],
  [
    'activations stand as acknowledged',
    'an activation that is gone',
    (e) => ({ ...e, applications: e.applications.map((a) => ({ ...a, slots: 0, activatedDevices: [] })) }),
  ],
];

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

  it('allows a transaction that a refused call may have made before it was refused', () => {
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

  it('asks no effect of a deactivation that a later activation has overtaken', () => {
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
