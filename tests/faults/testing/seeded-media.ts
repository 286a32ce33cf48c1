import type { Evidence } from '../evidence.ts';
import { general, notice, type Seeded, without } from './good-run.ts';

const deliverable = 'every uploaded package is deliverable and listed once';
const rises = 'an update’s progress rises, from 0 to its end';
const events = 'every Sora event arrives once';
const notified = 'every recording is saved and has one notification';
const whole = 'every saved recording is complete in the storage';
const parts = 'no part is uploaded again unless an upload was interrupted';

const lost =
  (webhookId: string) =>
  (e: Evidence): Evidence => ({ ...e, arrivals: without(e.arrivals, (a) => a.webhookId === webhookId) });
/** Adds the same arrival with another id. */
const doubled =
  (webhookId: string) =>
  (e: Evidence): Evidence => ({
    ...e,
    arrivals: e.arrivals.flatMap((a) =>
      a.webhookId === webhookId ? [a, { ...a, webhookId: 'again' }] : [a],
    ),
  });
const changed =
  (webhookId: string, more: object) =>
  (e: Evidence): Evidence => ({
    ...e,
    arrivals: e.arrivals.map((a) => (a.webhookId === webhookId ? { ...a, body: { ...a.body, ...more } } : a)),
  });
const [step, end] = ['tx-5-in_progress-success-0.5', 'tx-5-processed-success-1'];
const late = { file: 'webm', partNumber: 1, atMs: 50 };

/** Violations of the promises about packages, updates, Sora's events and recordings. */
export const seededMedia: readonly Seeded[] = [
  [deliverable, 'a missing package', (e) => ({ ...e, deliverable: [] })],
  [
    deliverable,
    'a package that is listed twice',
    (e) => ({ ...e, deliverable: [...e.packages, ...e.packages] }),
  ],
  [rises, 'progress above 1', changed(step, { progress: 1.1 })],
  [rises, 'progress without a number', changed(step, { progress: undefined })],
  [
    rises,
    'progress that falls',
    (e) => ({
      ...e,
      arrivals: e.arrivals.flatMap((a) =>
        a.webhookId === step ? [a, general(5, 'in_progress', 'success', 'loading', 0.4)] : [a],
      ),
    }),
  ],
  [rises, 'a success before the end', changed(end, { progress: 0.9 })],
  [events, 'a lost event', lost('sora-1')],
  [events, 'an event under two ids', doubled('sora-1')],
  [events, 'an event of another device', changed('sora-1', { deviceId: 'device-2' })],
  [
    events,
    'an event that Sora did not send',
    (e) => ({
      ...e,
      arrivals: [...e.arrivals, notice('sora-2', { operationId: 'notify-sora-event', event: 'a' })],
    }),
  ],
  [notified, 'a lost recording', lost('recording-1')],
  [notified, 'a recording under two ids', doubled('recording-1')],
  [notified, 'a recording that failed', changed('recording-1', { message: 'archive is not found.' })],
  [whole, 'a missing file', (e) => ({ ...e, storedParts: without(e.storedParts, (p) => p.file === 'json') })],
  [
    whole,
    'a part with other bytes',
    (e) => ({
      ...e,
      storedParts: e.storedParts.map((p) => (p.partNumber === 2 ? { ...p, sha256: 'x' } : p)),
    }),
  ],
  [
    whole,
    'a part under another tag',
    (e) => ({ ...e, storedParts: e.storedParts.map((p) => (p.partNumber === 2 ? { ...p, tag: 'x' } : p)) }),
  ],
  [parts, 'a part that is sent twice without an interruption', (e) => ({ ...e, interruptions: [] })],
  [
    parts,
    'a part that arrived completely after the interruption and is sent twice',
    (e) => ({ ...e, interruptions: [{ fromMs: 15, toMs: 16 }] }),
  ],
  [
    parts,
    'a part that is sent twice more although only one lease expired',
    (e) => ({
      ...e,
      puts: [{ file: 'webm', partNumber: 1, atMs: 15 }, ...e.puts],
      interruptions: [],
      lapsedUploads: ['webm', 'report'],
    }),
  ],
  [
    parts,
    'a part that is sent after a later one',
    (e) => ({ ...e, puts: [...e.puts, late], interruptions: [{ fromMs: 0, toMs: 100 }] }),
  ],
];
