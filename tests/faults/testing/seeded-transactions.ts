import { canceledByRequest, operations } from '../verify/operations.ts';
import {
  app,
  call,
  canceledActivation,
  device,
  general,
  goodRun,
  listed,
  notActivated,
  refusedDeactivation,
  type Seeded,
  swapStatus,
  without,
} from './good-run.ts';

const effect = (transactionId: number) => ({
  deviceId: device,
  transactionId,
  operation: operations.command,
});

/** Violations of the promises about transactions, settings and activations. */
export const seededTransactions: readonly Seeded[] = [
  ['nothing is unfinished at the end', 'a pending callback', (e) => ({ ...e, unfinished: ['callback'] })],
  [
    'every call is answered, and none is refused without a valid reason',
    'a call without an answer',
    (e) => ({ ...e, calls: [...e.calls, call({ kind: 'command', order: 8, status: 0 })] }),
  ],
  [
    'every call is answered, and none is refused without a valid reason',
    'a refusal without a valid reason',
    (e) => ({ ...e, calls: [...e.calls, call({ kind: 'command', order: 8, status: 404 })] }),
  ],
  [
    'every transaction of a 201 response exists',
    'a missing transaction',
    (e) => ({ ...e, calls: [...e.calls, call({ kind: 'command', order: 8, transactionId: 9 })] }),
  ],
  [
    'every transaction of a 201 response exists',
    'a transaction of another operation',
    (e) => ({
      ...e,
      calls: e.calls.map((c) => (c.transactionId === 2 ? { ...c, kind: 'deactivate' as const } : c)),
    }),
    ['the last acknowledged activation or deactivation is in force'],
  ],
  [
    'every transaction has an end state',
    'a transaction that stays accepted',
    (e) => swapStatus(e, 1, 'accepted'),
  ],
  [
    'every transaction has one end callback, which agrees with its state',
    'a lost callback',
    (e) => ({ ...e, arrivals: without(e.arrivals, (a) => a.webhookId === 'tx-1-processed-success-') }),
  ],
  [
    'every transaction has one end callback, which agrees with its state',
    'a state that the callback contradicts',
    (e) => swapStatus(e, 3, 'processed'),
  ],
  [
    'every transaction has one end callback, which agrees with its state',
    'a callback of an unknown transaction',
    (e) => ({ ...e, arrivals: [...e.arrivals, general(9, 'accepted')] }),
  ],
  [
    'every transaction has one end callback, which agrees with its state',
    'two ends',
    (e) => ({ ...e, arrivals: [...e.arrivals, general(1, 'processed', 'failure', 'no')] }),
    ['callbacks first arrive in the order accepted, progress, end, app answer'],
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
      arrivals: e.arrivals.map((a) =>
        a.webhookId.startsWith('tx-') ? { ...a, body: { ...a.body, deviceId: 'device-2' } } : a,
      ),
    }),
  ],
  [
    'every call is answered, and none is refused without a valid reason',
    'an activation that is refused',
    (e) => ({
      ...e,
      calls: [...e.calls, call({ kind: 'activate', order: 8, status: 403, message: notActivated })],
    }),
  ],
  [
    'every call is answered, and none is refused without a valid reason',
    'a command that is refused on a device that stays activated',
    (e) => ({ ...e, alwaysActivated: [device] }),
  ],
  [
    'callbacks first arrive in the order accepted, progress, end, app answer',
    'an end before accepted',
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
    (e) => ({ ...e, effects: [...e.effects, effect(2)] }),
  ],
  [
    'every effect matches its transaction',
    'an effect on another device',
    (e) => ({ ...e, effects: e.effects.map((x) => ({ ...x, deviceId: 'device-2' })) }),
  ],
  [
    'every effect matches its transaction',
    'an effect without a transaction',
    (e) => ({ ...e, effects: [...e.effects, effect(9)] }),
  ],
  [
    'every successful transaction took effect',
    'a success without an effect',
    (e) => ({ ...e, effects: without(e.effects, (x) => x.transactionId === 2) }),
  ],
  [
    'no transaction reported as canceled took effect',
    'an effect of a canceled transaction',
    (e) => ({ ...e, effects: [...e.effects, effect(3)] }),
  ],
  [
    'cancel responses name exactly the transactions that were canceled',
    'a canceled transaction that no response names',
    (e) => ({ ...e, calls: e.calls.map((c) => (c.kind === 'cancel' ? { ...c, canceledIds: [] } : c)) }),
  ],
  [
    'cancel responses name exactly the transactions that were canceled',
    'a named transaction that was not canceled',
    (e) => ({ ...e, calls: e.calls.map((c) => (c.kind === 'cancel' ? { ...c, canceledIds: [2, 3] } : c)) }),
  ],
  [
    'one Idempotency-Key makes one transaction',
    'a transaction without a call',
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
    'the slots in use match the activated devices',
    'a slot too many',
    (e) => ({ ...e, applications: e.applications.map((a) => ({ ...a, slots: 2 })) }),
  ],
  [
    'the last acknowledged activation or deactivation is in force',
    'a lost activation',
    (e) => ({ ...e, applications: e.applications.map((a) => ({ ...a, slots: 0, activatedDevices: [] })) }),
  ],
  [
    'the last acknowledged activation or deactivation is in force',
    'a canceled activation that is in force',
    (e) => canceledActivation({ ...e, applications: goodRun().applications }),
  ],
  [
    'every call is answered, and none is refused without a valid reason',
    'a deactivation that is refused although the device is activated',
    (e) => ({ ...e, calls: [...e.calls, refusedDeactivation] }),
  ],
];
