import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { uploadCut } from '@headset-cloud/communication/recordings/worker.ts';
import type { ApiAnswer } from '@headset-cloud/demo/api.ts';
import { type Admin, createAdmin } from '@headset-cloud/demo/provision.ts';
import { notifierConfig } from '@headset-cloud/notifier/config.ts';
import { request } from 'undici';
import type {
  ApplicationState,
  DeadDelivery,
  Evidence,
  FinalSetting,
  Interruption,
  ListedTransaction,
  Package,
} from './evidence.ts';
import { gatherBills, gatherUsage } from './gather-usage.ts';
import { groups } from './groups.ts';
import { effectsIn, type HeadsetProcess, statesOf } from './headsets.ts';
import type { Tally } from './killer.ts';
import { staying } from './load/target.ts';
import { retryReads } from './retry-reads.ts';
import type { Supervisor } from './supervisor.ts';
import { overtaken } from './verify/order.ts';
import type { Tenant, World } from './world.ts';

const perPage = 100;
/** A process may exit because of an outage until this long after MongoDB, Kafka or S3 is back; milliseconds. */
const outageGraceMs = 15_000;
const awakeningMs = 2000;
const signedBeforeMs = 5000;
/** Maximum wait for an earlier notification. This test uses the default. */
const orderWaitMs = notifierConfig.NOTIFIER_ORDER_WAIT_MS.default;

/** The parts of a platform under load that `unfinished` reads. */
export interface Observed {
  readonly tenants: readonly Tenant[];
  readonly headsets: readonly HeadsetProcess[];
  readonly admin: Admin;
  /** Returns the metrics of transactions. */
  metrics(): Promise<string>;
}

export function observed({ stack, tenants, headsets }: World): Observed {
  const url = stack.adminUrls['transactions'] ?? stack.adminUrls['platform'];
  return {
    ...{ tenants, headsets, admin: createAdmin(stack.admin, undefined, [retryReads]) },
    metrics: async () => (await request(`${url}/metrics`)).body.text(),
  };
}

/** Describes all unfinished work; empty: the platform has finished all accepted work. */
export async function unfinished(of: Observed): Promise<string[]> {
  const open: string[] = [];
  const { admin } = of;
  for (const tenant of of.tenants) {
    for (const t of await listed(tenant, 'uncompleted')) {
      open.push(`transaction ${t.transactionId} (device ${t.deviceId}) is ${t.transactionStatus}`);
    }
    const { applicationId } = tenant;
    const { deliveries } = await admin.notifier.listDeliveries({
      applicationId,
      status: 'pending',
      limit: 100,
    });
    for (const d of deliveries) open.push(`callback ${d.notificationId} is pending (${d.lastOutcome})`);
  }
  for (const { endpointId, taken } of (await admin.communication.listEndpoints({})).endpoints) {
    if (taken > 0) open.push(`${taken} slots are in use at Sora endpoint ${endpointId}`);
  }
  const due = dueTransactions(await of.metrics());
  if (due > 0) open.push(`${due} transactions wait for the sweeper`);
  for (const headsets of of.headsets) {
    const states = await statesOf(headsets);
    if (!states) open.push(`${headsets.process.name} does not answer`);
    for (const s of states ?? []) {
      if (s.sessionEpoch === 0) open.push(`headset ${s.deviceId} is not online`);
      if (s.unfinishedUploads > 0) {
        open.push(`headset ${s.deviceId} has ${s.unfinishedUploads} files to upload`);
      }
      if (s.unacknowledgedReports > 0) {
        open.push(`headset ${s.deviceId} keeps ${s.unacknowledgedReports} reports`);
      }
    }
  }
  return open;
}

/** Number of transactions that the sweeper must process. An ended transaction must not be one of them. */
function dueTransactions(metrics: string): number {
  const [, count] = /^headset_transactions_due(?:\{.*\})? (\d+)$/m.exec(metrics) ?? [];
  if (count === undefined) throw new Error('the metrics of transactions lack the number of due transactions');
  return Number(count);
}

/** Reads all evidence through the public APIs and the operators' API. */
export async function gather(world: World, open: readonly string[], tally: Tally): Promise<Evidence> {
  const admin = createAdmin(world.stack.admin, undefined, [retryReads]);
  const transactions: ListedTransaction[] = [];
  const settings: FinalSetting[] = [];
  const applications: ApplicationState[] = [];
  for (const tenant of world.tenants) {
    const { applicationId } = tenant;
    transactions.push(...(await listed(tenant)));
    const { body } = await tenant.api.app('GET', '');
    for (const [field, value] of Object.entries(body)) {
      settings.push({ applicationId, field, value: value as string | null });
    }
    const { contract } = await admin.devices.getContract({ applicationId });
    const activatedDevices: string[] = [];
    const owned = [...tenant.devices, world.handed];
    for (const { deviceId } of owned) {
      const { device } = await admin.devices.getDevice({ deviceId });
      if (device?.activated && device.applicationId === applicationId) activatedDevices.push(deviceId);
    }
    const devices = owned.map((d) => d.deviceId);
    applications.push({ applicationId, slots: contract?.activated ?? -1, activatedDevices, devices });
  }
  const arrivals = world.integrator.arrivals.map(({ webhookId, receivedAt, verified, body }) => ({
    ...{ webhookId, verified, body, atMs: Date.parse(receivedAt) },
  }));
  const feeds = await Promise.all(world.tenants.map(({ feed }) => feed.both()));
  return {
    calls: world.tenants.flatMap((t) => t.client.calls),
    transactions,
    arrivals,
    effects: effectsIn(world.stack.dataDir),
    reports: world.tenants.flatMap((t) => t.loadRecord.reports),
    uploads: world.tenants.flatMap((t) => t.loadRecord.uploads),
    storedFiles: [...world.files.files].map(([file, content]) => ({
      file,
      sha256: createHash('sha256').update(content).digest('hex'),
    })),
    spent: world.tenants.flatMap((t) => t.loadRecord.spent),
    recorded: (await Promise.all(world.tenants.map((t) => gatherUsage(admin, t)))).flat(),
    bills: (await Promise.all(world.tenants.map(gatherBills))).flat(),
    settings,
    applications,
    packages: world.tenants.flatMap((t) => t.loadRecord.packages),
    deliverable: (await Promise.all(world.tenants.map(deliverablePackages))).flat(),
    soraEvents: world.tenants.flatMap((t) => t.loadRecord.soraEvents),
    recordings: world.tenants.flatMap((t) => t.loadRecord.recordings),
    storedParts: world.recordings.stored,
    puts: world.recordingPuts,
    interruptions: interruptions(world.supervisor, tally),
    lapsedUploads: lapsedUploads(world.stack.dataDir),
    alwaysActivated: world.tenants.flatMap((t) => staying(t.devices)),
    answeringDevices: world.answering.devices.map((d) => d.deviceId),
    serverErrors: world.tenants.flatMap((t) => t.client.errors),
    restarts: tally.restarts,
    terminations: world.supervisor.terminations,
    wrongClocks: wrongClocks(tally),
    otherClocks: tally.clocks.map(({ fromMs, toMs }) => ({ fromMs, toMs: toMs + signedBeforeMs })),
    poison: tally.poison.map(({ topic, position }) => ({
      position,
      groups: groups.filter((g) => g.topic === topic).map((g) => g.group),
    })),
    triedBefore: await triedBefore(admin, arrivals),
    impatient: await impatient(admin, arrivals),
    backlogs: tally.backlogs,
    deadDeliveries: await deadDeliveries(admin),
    feeds,
    notDelivered: await notDelivered(admin, feeds, arrivals),
    unknownCallbacks: await unknownCallbacks(admin, arrivals),
    readings: world.tenants.flatMap((t) => t.loadRecord.readings),
    unfinished: open,
    unexpectedExits: unexpectedExits(world.supervisor, tally),
    deadLetters: (
      await Promise.all(admin.deadLetters.map((one) => one.listDeadLetters({ limit: 1000, ended: true })))
    )
      .flatMap((answer) => answer.deadLetters)
      .map(({ topic, position, group, error }) => ({ position: `${topic}/${position}`, group, error })),
  };
}

/**
 * Returns uploads of recordings that were stopped by an expired lease, from the services' logs. On an overloaded
 * machine this also happens without a fault.
 */
function lapsedUploads(dataDir: string): string[] {
  const logs = join(dataDir, 'logs');
  return readdirSync(logs).flatMap((name) =>
    readFileSync(join(logs, name), 'utf8')
      .split('\n')
      .filter((line) => line.includes(uploadCut) && line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as { recordingId: string; heldMsAgo: number; leaseMs: number })
      .filter(({ heldMsAgo, leaseMs }) => heldMsAgo >= leaseMs)
      .map(({ recordingId }) => recordingId),
  );
}

/** Reads that get a 503 are repeated for this long, because a pod may be shutting down; milliseconds. */
const refusedForMs = 30_000;

/** Returns the response body of a GET call. */
async function read({ api }: Pick<Tenant, 'api'>, path: string): Promise<ApiAnswer['body']> {
  const untilMs = performance.now() + refusedForMs;
  for (;;) {
    const { status, headers, body } = await api.app('GET', path);
    if (status === 200) return body;
    if (status !== 503 || performance.now() > untilMs) throw new Error(`GET ${path} answered ${status}`);
    await pause(1000 * Number(headers['retry-after'] ?? 1));
  }
}

/** Returns all transactions of an application. */
export async function listed(tenant: Tenant, completionStatus?: string): Promise<ListedTransaction[]> {
  const found: ListedTransaction[] = [];
  const filter = completionStatus ? `&completionStatus=${completionStatus}` : '';
  for (let page = 1; ; page++) {
    const body = await read(tenant, `/transactions?perPage=${perPage}&page=${page}${filter}`);
    for (const t of body.transactions) found.push({ applicationId: tenant.applicationId, ...t });
    if (!body.parameters.isNext) return found;
  }
}

export async function deliverablePackages({ applicationId, api }: Tenant): Promise<Package[]> {
  const found: Package[] = [];
  for (let whole = false; !whole; ) {
    const body = await read({ api }, `/apps?limit=${perPage}&offset=${found.length}`);
    const { appVersions } = body as { appVersions: Omit<Package, 'applicationId'>[] };
    for (const version of appVersions) found.push({ applicationId, ...version });
    whole = appVersions.length < perPage;
  }
  return found;
}

/** Returns callbacks that were given up. */
export async function deadDeliveries(admin: Admin): Promise<DeadDelivery[]> {
  const { deliveries } = await admin.notifier.listDeliveries({ status: 'dead', limit: 1000 });
  return deliveries.map(({ notificationId, attempts, createdAtMs, lastOutcome }) => ({
    ...{ notificationId, attempts, lastOutcome },
    ageMs: Date.now() - Number(createdAtMs),
  }));
}

/** Returns callbacks that did not arrive and that the operators' history shows as replaced, given up or feed-only. */
async function notDelivered(
  admin: Admin,
  feeds: Evidence['feeds'],
  arrivals: Evidence['arrivals'],
): Promise<string[]> {
  const arrived = new Set(arrivals.map(({ webhookId }) => webhookId));
  const others = feeds.flatMap(({ followed }) => followed).filter((id) => !arrived.has(id));
  const excused: string[] = [];
  for (const notificationId of new Set(others)) {
    const { delivery } = await admin.notifier.getDelivery({ notificationId });
    if (['replaced', 'dead', 'unsent'].includes(delivery?.status ?? '')) excused.push(notificationId);
  }
  return excused;
}

/** Returns callbacks that arrived and are missing in the operators' history. */
export async function unknownCallbacks(admin: Admin, arrivals: Evidence['arrivals']): Promise<string[]> {
  const left = [...new Set(arrivals.map(({ webhookId }) => webhookId))];
  const unknown: string[] = [];
  const look = async (): Promise<void> => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      try {
        await admin.notifier.getDelivery({ notificationId: id });
      } catch (error) {
        if (ConnectError.from(error).code !== Code.NotFound) throw error;
        unknown.push(id);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, look));
  return unknown;
}

/**
 * Returns notifications that arrived after later ones although their first attempt was earlier. A first attempt that
 * times out, for example because a process is frozen, does not delay later notifications (rule A20). Its request can
 * arrive after the later notifications.
 */
export async function triedBefore(admin: Admin, arrivals: Evidence['arrivals']): Promise<string[]> {
  const firstMs = firstArrivals(arrivals);
  const late = [...overtaken(arrivals, new Set()).values()].flat();
  const found = await Promise.all(
    late.map(async ({ webhookId, behindId }) => {
      const { recentAttempts } = await admin.notifier.getDelivery({ notificationId: webhookId });
      const [first] = recentAttempts;
      const isTried = first?.statusCode === 0 && Number(first.atMs) < (firstMs.get(behindId) ?? 0);
      return isTried ? [webhookId] : [];
    }),
  );
  return found.flat();
}

function firstArrivals(arrivals: Evidence['arrivals']): ReadonlyMap<string, number> {
  const firstMs = new Map<string, number>();
  for (const { webhookId, atMs } of arrivals) if (!firstMs.has(webhookId)) firstMs.set(webhookId, atMs);
  return firstMs;
}

/** Returns notifications that overtook earlier ones after the maximum wait. */
export async function impatient(admin: Admin, arrivals: Evidence['arrivals']): Promise<string[]> {
  const firstMs = firstArrivals(arrivals);
  const found = new Set<string>();
  const looked = new Set<string>();
  for (;;) {
    const ahead = [...overtaken(arrivals, found).values()].flat().map(({ behindId }) => behindId);
    const fresh = [...new Set(ahead)].filter((id) => !looked.has(id));
    if (fresh.length === 0) return [...found];
    for (const notificationId of fresh) {
      looked.add(notificationId);
      const { delivery } = await admin.notifier.getDelivery({ notificationId });
      const waitedMs = (firstMs.get(notificationId) ?? 0) - Number(delivery?.createdAtMs ?? 0);
      if (waitedMs >= orderWaitMs) found.add(notificationId);
    }
  }
}

/** Periods with a wrong clock in a process that signs callbacks, extended because callbacks arrive later. */
function wrongClocks({ clocks }: Tally): Interruption[] {
  return clocks
    .filter(({ process }) => process.startsWith('platform') || process.startsWith('notifier'))
    .map(({ fromMs, toMs }) => ({ fromMs, toMs: toMs + signedBeforeMs }));
}

/** Periods in which a fault may have interrupted an upload of a recording. */
function interruptions(supervisor: Supervisor, { outages, freezes, clocks }: Tally): Interruption[] {
  const uploads = ({ process }: { process: string }) =>
    process.startsWith('platform') || process.startsWith('communication');
  const deaths = [...supervisor.deaths, ...supervisor.terminations]
    .filter(uploads)
    .map(({ atMs }) => ({ fromMs: atMs, toMs: atMs }));
  // A process that was frozen or without its database continues until it detects that its lease has expired.
  const pauses = [
    ...[...freezes, ...clocks].filter(uploads),
    ...outages.filter((o) => o.server === 'mongo' && (!o.process || uploads({ process: o.process }))),
  ];
  return [...deaths, ...pauses.map(({ fromMs, toMs }) => ({ fromMs, toMs: toMs + awakeningMs }))];
}

/** Exits of processes without a signal and outside of outages and their grace time. */
function unexpectedExits(supervisor: Supervisor, { outages }: Tally): string[] {
  const isOf = (o: Tally['outages'][number], process: string) =>
    o.process === undefined || (o.process === process && /^(mongo|kafka)/.test(o.server));
  return supervisor.deaths
    .filter((d) => d.how !== 'SIGKILL')
    .filter(
      (d) =>
        !outages.some((o) => isOf(o, d.process) && d.atMs >= o.fromMs && d.atMs <= o.toMs + outageGraceMs),
    )
    .map((d) => `${d.process} ended with ${d.how} at ${new Date(d.atMs).toISOString()}`);
}
