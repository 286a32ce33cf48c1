import { app, device, notice, type Seeded, without } from './good-run.ts';

const reported = 'every report of a headset arrives once, and nothing else arrives';
const notified = 'every upload of a headset has one notification';
const stored = 'every uploaded file is complete in the storage';
const recorded = 'every use is recorded once';
const billed = 'the sums on the bill match the usage';
const data = (customData: string) => ({ operationId: 'notify-custom-data', customData });
const use = { applicationId: app, deviceId: device, kind: 'speech', durationMs: 3_600_000 } as const;

/** Violations of the promises about reports, files and usage. */
export const seededHeadsets: readonly Seeded[] = [
  [
    reported,
    'a lost report',
    (e) => ({ ...e, arrivals: without(e.arrivals, (a) => a.webhookId === `device-${device}-1`) }),
  ],
  [
    reported,
    'a report under two ids',
    (e) => ({ ...e, arrivals: [...e.arrivals, notice(`device-${device}-3`, data('one'))] }),
  ],
  [
    reported,
    'a report that no headset sent',
    (e) => ({ ...e, arrivals: [...e.arrivals, notice(`device-${device}-3`, data('two'))] }),
  ],
  [
    reported,
    'a report at another application',
    (e) => ({
      ...e,
      arrivals: e.arrivals.map((a) =>
        a.webhookId === `device-${device}-1` ? { ...a, body: { ...a.body, applicationId: 'app-2' } } : a,
      ),
    }),
  ],
  [
    notified,
    'a lost notification',
    (e) => ({ ...e, arrivals: without(e.arrivals, (a) => a.webhookId === `device-${device}-2`) }),
  ],
  [
    notified,
    'a second notification',
    (e) => ({
      ...e,
      arrivals: [
        ...e.arrivals,
        notice(`device-${device}-3`, { file: e.uploads[0]?.file, result: 'success' }),
      ],
    }),
  ],
  [
    notified,
    'a failure without a fault',
    (e) => ({
      ...e,
      arrivals: e.arrivals.map((a) =>
        a.webhookId === `device-${device}-2`
          ? { ...a, body: { ...a.body, result: 'failure', message: 'The file size is over the limit.' } }
          : a,
      ),
    }),
  ],
  [stored, 'a success without bytes', (e) => ({ ...e, storedFiles: [] })],
  [
    stored,
    'a success with half of the bytes',
    (e) => ({ ...e, storedFiles: e.storedFiles.map((f) => ({ ...f, sha256: 'a' })) }),
  ],
  [recorded, 'a lost use', (e) => ({ ...e, recorded: [] })],
  [recorded, 'a use that is recorded twice', (e) => ({ ...e, recorded: [...e.recorded, ...e.recorded] })],
  [recorded, 'a use that did not happen', (e) => ({ ...e, recorded: [...e.recorded, use] })],
  [billed, 'an hour too many', (e) => ({ ...e, bills: e.bills.map((b) => ({ ...b, hours: 2 })) })],
  [billed, 'a missing amount', (e) => ({ ...e, bills: [] })],
  [
    billed,
    'an amount for another device',
    (e) => ({ ...e, bills: [...e.bills, { ...use, deviceId: '', hours: 1 }] }),
  ],
];
