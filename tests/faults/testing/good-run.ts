import type { Arrival, CallRecord, Evidence } from '../evidence.ts';
import { canceledByRequest, operations } from '../verify/operations.ts';

export const app = 'app-1';
export const device = 'device-1';
export const notActivated = 'The device is not activated.';

const own = { applicationId: app, deviceId: device };
const file = `${app}/${device}/upload_files/one`;
/** Operations of transactions that are not commands. */
const known: Readonly<Record<number, string>> = {
  0: operations.deactivate,
  1: operations.activate,
  5: operations.update,
  6: operations.activate,
};
const app1 = { applicationId: app, package: 'com.example.one', version: '1' };
const stored = (file: string, partNumber: number, sha256: string) => ({
  ...{ file, partNumber, sha256, tag: `tag ${sha256}` },
  uploadId: partNumber > 0 ? 'u' : '',
});
/** A callback without a transaction. */
export const notice = (webhookId: string, body: object): Arrival => ({
  webhookId,
  verified: true,
  atMs: 0,
  body: { ...own, ...body },
});

export const call = (more: Partial<CallRecord> & Pick<CallRecord, 'kind' | 'order'>): CallRecord => ({
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
  operationId: known[transactionId] ?? operations.command,
});
export const general = (
  id: number,
  type: 'accepted' | 'in_progress' | 'processed',
  result = 'success',
  message = 'called',
  progress?: number,
): Arrival => ({
  webhookId: `tx-${id}-${type}-${result}-${progress ?? ''}`,
  verified: true,
  atMs: 0,
  body: {
    ...{ ...subject(id), notificationType: type, result, message },
    ...(progress !== undefined && { progress }),
  },
});
export const answer = (id: number): Arrival => ({
  webhookId: `tx-${id}-answer`,
  verified: true,
  atMs: 0,
  body: { ...subject(id), process: 'processed', success: true },
});
export const listed = (transactionId: number, operationId: string, transactionStatus = 'processed') => ({
  applicationId: app,
  deviceId: device,
  transactionId,
  operationId,
  transactionStatus,
});

/** Another application, whose feed was read. */
export const feedApp = 'app-3';
/** Events of this feed. The progress event was replaced and never arrived. */
const inFeed = ['tx-9-accepted', 'tx-9-progress-1', 'tx-9-processed', 'boot-9'];

/**
 * A run without violations: an activation (1), a command with an app answer (2), a canceled command (3), an
 * update (5), a report, a file, a period of usage, a Sora event, and a recording of two parts, the first of
 * which was sent twice.
 */
export function goodRun(): Evidence {
  return {
    calls: [
      call({ kind: 'activate', order: 1, transactionId: 1 }),
      call({ kind: 'command', order: 2, transactionId: 2 }),
      call({ kind: 'command', order: 3, transactionId: 3 }),
      call({ kind: 'update', order: 8, transactionId: 5 }),
      call({ kind: 'cancel', order: 4, status: 200, canceledIds: [3] }),
      call({ kind: 'settings', order: 5, status: 200, setting: { field: 'soraEvent', value: 'a' } }),
      call({ kind: 'settings', order: 6, status: 200, setting: { field: 'soraEvent', value: 'b' } }),
      call({ kind: 'command', order: 7, status: 403, message: notActivated }),
    ],
    transactions: [
      listed(1, operations.activate),
      listed(2, operations.command),
      listed(3, operations.command, 'canceled'),
      listed(5, operations.update),
    ],
    arrivals: [
      general(1, 'accepted'),
      general(1, 'processed'),
      general(2, 'accepted'),
      general(2, 'processed'),
      general(2, 'accepted'),
      answer(2),
      general(3, 'processed', 'failure', canceledByRequest),
      notice(`device-${device}-1`, { operationId: 'notify-custom-data', customData: 'one' }),
      notice('sora-1', {
        ...{ operationId: 'notify-sora-event', event: 'connection.created' },
        ...{ channelId: 'c', connectionId: 'd' },
      }),
      notice('recording-1', {
        channel: {
          ...{ channelId: 'c', metaFile: 'report' },
          connections: [
            {
              ...{ connectionId: 'd', jsonFile: 'json' },
              webmFile: { file: 'webm', splitted: 2, uploadId: 'u', parts: ['tag 1', 'tag 2'] },
            },
          ],
        },
      }),
      general(5, 'accepted', 'success', 'started', 0),
      general(5, 'in_progress', 'success', 'loading', 0.5),
      general(5, 'processed', 'success', 'installed', 1),
      notice(`device-${device}-2`, { file, result: 'success', message: 'upload success.' }),
      ...inFeed
        .filter((id) => id !== 'tx-9-progress-1')
        .map((id) => notice(id, { applicationId: feedApp, operationId: 'notify-boot' })),
    ],
    effects: [
      { deviceId: device, transactionId: 1, operation: operations.activate },
      { deviceId: device, transactionId: 2, operation: operations.command },
      { deviceId: device, transactionId: 5, operation: operations.update },
    ],
    reports: [{ ...own, taken: true, operationId: 'notify-custom-data', value: 'one', atMs: 0 }],
    uploads: [{ ...own, taken: true, file, sha256: 'abc' }],
    storedFiles: [{ file, sha256: 'abc' }],
    spent: [{ ...own, taken: true, kind: 'speech', durationMs: 1001 }],
    recorded: [{ ...own, kind: 'speech', durationMs: 1001 }],
    bills: [{ ...own, kind: 'speech', hours: 1 }],
    packages: [app1],
    deliverable: [app1],
    soraEvents: [{ ...own, event: 'connection.created', channelId: 'c', connectionId: 'd' }],
    recordings: [
      {
        ...{ applicationId: app, channelId: 'c' },
        metaFile: { file: 'report', parts: ['m'] },
        jsonFile: { file: 'json', parts: ['j'] },
        webmFile: { file: 'webm', parts: ['1', '2'] },
      },
    ],
    storedParts: [
      stored('report', 0, 'm'),
      stored('json', 0, 'j'),
      stored('webm', 1, '1'),
      stored('webm', 2, '2'),
    ],
    puts: [
      { file: 'report', partNumber: 0, atMs: 10 },
      { file: 'json', partNumber: 0, atMs: 11 },
      { file: 'webm', partNumber: 1, atMs: 20 },
      { file: 'webm', partNumber: 1, atMs: 30 },
      { file: 'webm', partNumber: 2, atMs: 40 },
    ],
    interruptions: [{ fromMs: 25, toMs: 26 }],
    lapsedUploads: [],
    alwaysActivated: [],
    settings: [{ applicationId: app, field: 'soraEvent', value: 'b' }],
    applications: [{ applicationId: app, slots: 1, activatedDevices: [device], devices: [device] }],
    answeringDevices: [device],
    unfinished: [],
    unexpectedExits: [],
    deadLetters: [{ position: 'usage/0:1', group: 'billing-usage', error: 'none' }],
    triedBefore: [],
    impatient: [],
    poison: [{ position: 'usage/0:1', groups: ['billing-usage'] }],
    serverErrors: [
      { kind: 'command', status: 503, atMs: 5, message: 'away', retryAfter: '1', requestId: 'r1' },
    ],
    restarts: [{ fromMs: 0, toMs: 10 }],
    terminations: [{ process: 'devices', how: '0', atMs: 5, tookMs: 5 }],
    wrongClocks: [],
    otherClocks: [],
    backlogs: [],
    deadDeliveries: [],
    unknownCallbacks: [],
    feeds: [{ applicationId: feedApp, followed: inFeed, again: inFeed, refusals: [] }],
    notDelivered: ['tx-9-progress-1'],
    readings: [],
  };
}

export const without = <T>(list: readonly T[], test: (item: T) => boolean) =>
  list.filter((item) => !test(item));
export const swapStatus = (e: Evidence, id: number, transactionStatus: string): Evidence => ({
  ...e,
  transactions: e.transactions.map((t) => (t.transactionId === id ? { ...t, transactionStatus } : t)),
});

/** Each check with a change that violates it, and the other checks that the same change violates. */
export type Seeded = [
  check: string,
  what: string,
  change: (e: Evidence) => Evidence,
  alsoBroken?: readonly string[],
];

/** A deactivation that is refused because the device is not activated. */
export const refusedDeactivation = call({
  ...{ kind: 'deactivate', order: 9, status: 403, message: notActivated },
});

/** The activation of the run was canceled, and the device is deactivated. */
export function canceledActivation(run: Evidence): Evidence {
  return {
    ...run,
    calls: run.calls.map((c) => (c.kind === 'cancel' ? { ...c, canceledIds: [1, 3] } : c)),
    transactions: run.transactions.map((t) =>
      t.transactionId === 1 ? listed(1, operations.activate, 'canceled') : t,
    ),
    arrivals: [
      ...run.arrivals.filter(({ body }) => body.transactionId !== 1),
      general(1, 'processed', 'failure', canceledByRequest),
    ],
    effects: run.effects.filter(({ transactionId }) => transactionId !== 1),
  };
}
