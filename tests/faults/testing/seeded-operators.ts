import type { Evidence } from '../evidence.ts';
import { app, device, general, notice, type Seeded, swapStatus } from './good-run.ts';

const hourMs = 3_600_000;
const order = 'a headset’s notifications first arrive in the order of its reports';
const given = 'no callback is given up too early (before 72 h and 10 attempts, or 96 h)';
const aside = 'only invalid events become dead letters';
const old = 'no state of an earlier activation is readable';
const other = { applicationId: 'app-2', deviceId: device };
const place = { operationId: 'notify-location', value: '1 100', taken: true };
const dead = { notificationId: 'n', attempts: 12, ageMs: 73 * hourMs, lastOutcome: '500' };
const reading = { applicationId: app, deviceId: device, location: '1 100', activatedAtMs: 50, readAtMs: 60 };
const error = {
  kind: 'command',
  status: 503,
  atMs: 5,
  message: 'away',
  retryAfter: '1',
  requestId: 'r1',
} as const;

/** A report of another headset that arrives after `tookMs`, reported while app's server failed. */
const besideBacklog = (e: Evidence, tookMs: number): Evidence => ({
  ...e,
  backlogs: [{ applicationId: app, fromMs: 0, toMs: 100 }],
  reports: [
    ...e.reports,
    { ...other, taken: true, operationId: 'notify-custom-data', value: 'two', atMs: 50 },
  ],
  arrivals: [
    ...e.arrivals,
    {
      ...notice('device-device-1-7', { ...other, operationId: 'notify-custom-data', customData: 'two' }),
      atMs: 50 + tookMs,
    },
  ],
});

/** Two reports of one device whose callbacks arrive in this order. */
const arriving = (e: Evidence, ...ids: readonly number[]): Evidence => ({
  ...e,
  reports: [
    ...e.reports,
    ...ids.map((id) => ({ ...e.reports[0], value: `v${id}` }) as Evidence['reports'][number]),
  ],
  arrivals: [
    ...e.arrivals,
    ...ids.map((id) =>
      notice(`device-${device}-${id}`, { operationId: 'notify-custom-data', customData: `v${id}` }),
    ),
  ],
});

/** Unusual runs without violations. */
export const excused: readonly [what: string, change: (e: Evidence) => Evidence][] = [
  [
    'a part that is sent again because the lease of the upload expired',
    (e) => ({ ...e, interruptions: [], lapsedUploads: ['webm'] }),
  ],
  ['reports that arrive in their order', (e) => arriving(e, 8, 9)],
  [
    'a report that has waited for the maximum time',
    (e) => ({ ...arriving(e, 9, 8), impatient: [`device-${device}-9`] }),
  ],
  [
    'a repeat that arrives late',
    (e) => {
      const run = arriving(e, 8, 9);
      return { ...run, arrivals: [...run.arrivals, ...run.arrivals.slice(-2)] };
    },
  ],
  ['a callback given up after 73 h', (e) => ({ ...e, deadDeliveries: [dead] })],
  [
    'a callback given up after 96 h without attempts',
    (e) => ({ ...e, deadDeliveries: [{ ...dead, attempts: 0, ageMs: 97 * hourMs }] }),
  ],
  [
    'a callback given up after a 410',
    (e) => ({ ...e, deadDeliveries: [{ ...dead, attempts: 1, ageMs: 1, lastOutcome: '410' }] }),
  ],
  ['a 500 with Retry-After', (e) => ({ ...e, serverErrors: [{ ...error, status: 500, atMs: 11 }] })],
  [
    'an unverified callback from a process with a wrong clock',
    (e) => ({
      ...e,
      wrongClocks: [{ fromMs: 0, toMs: 10 }],
      arrivals: [{ ...(e.arrivals[0] as Evidence['arrivals'][number]), verified: false }, ...e.arrivals],
    }),
  ],
  [
    'a location that was reported again in the new activation',
    (e) => ({
      ...e,
      reports: [...e.reports, { ...other, ...place, taken: false, atMs: 10 }],
      readings: [{ ...reading, updatedAtMs: 55 }],
    }),
  ],
  ['another customer whose callback arrives at once', (e) => besideBacklog(e, 100)],
];

/** Violations of the promises about the order of reports, operators and isolation. */
export const seededOperators: readonly Seeded[] = [
  [order, 'a report that a later one has overtaken', (e) => arriving(e, 9, 8)],
  [
    order,
    'a report that was overtaken by a later one that did not wait for the maximum time',
    (e) => ({ ...arriving(e, 10, 9, 8), impatient: [`device-${device}-10`] }),
  ],
  [
    old,
    'a location from before the activation',
    (e) => ({
      ...e,
      reports: [...e.reports, { ...other, ...place, taken: false, atMs: 10 }],
      readings: [{ ...reading, updatedAtMs: 10 }],
    }),
  ],
  [
    'a failing endpoint does not delay other endpoints',
    'another customer whose callbacks are delayed',
    (e) => besideBacklog(e, 60_000),
  ],
  [
    'the operators’ history has every callback that arrived',
    'a callback that is missing in the history',
    (e) => ({ ...e, unknownCallbacks: ['tx-1-accepted'] }),
  ],
  [given, 'one attempt', (e) => ({ ...e, deadDeliveries: [{ ...dead, attempts: 1 }] })],
  [given, 'an hour', (e) => ({ ...e, deadDeliveries: [{ ...dead, ageMs: hourMs }] })],
  [
    aside,
    'a dead letter',
    (e) => ({
      ...e,
      deadLetters: [...e.deadLetters, { position: 'usage/0:2', group: 'billing-usage', error: 'no' }],
    }),
  ],
  [
    'each invalid event becomes a dead letter of every group that reads it',
    'an invalid event without a dead letter',
    (e) => ({ ...e, deadLetters: [] }),
  ],
  [
    'SIGTERM shuts a process down gracefully',
    'a process that had to be killed',
    (e) => ({ ...e, terminations: [{ process: 'devices', how: 'SIGKILL', atMs: 5, tookMs: 20_000 }] }),
  ],
  [
    'every response with status 500 or above has Retry-After',
    'a 503 without Retry-After',
    (e) => ({ ...e, serverErrors: [{ ...error, retryAfter: '' }] }),
  ],
  [
    'a rolling restart causes no server error other than 503',
    'a 500 during a rolling restart',
    (e) => ({ ...e, serverErrors: [{ ...error, status: 500 }] }),
  ],
  ['no process exits without a fault', 'an exit', (e) => ({ ...e, unexpectedExits: ['devices'] })],
  [
    'no transaction reported as canceled took effect',
    'an effect of a transaction that a newer one has replaced',
    (e) => {
      const message = 'The transaction was canceled because there is a new transaction.';
      const run = swapStatus(e, 1, 'canceled');
      const arrivals = run.arrivals.map((a) =>
        a.webhookId === 'tx-1-processed-success-' ? general(1, 'processed', 'failure', message) : a,
      );
      return { ...run, arrivals };
    },
    // The replaced transaction is the only activation of the run, and the activation is still in force.
    ['the last acknowledged activation or deactivation is in force'],
  ],
];
