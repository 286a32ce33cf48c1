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
  ApplicationStanding,
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
import { overtaken } from './judge/order.ts';
import type { Tally } from './killer.ts';
import { staying } from './load/target.ts';
import { patient } from './patient.ts';
import type { Supervisor } from './supervisor.ts';
import type { Tenant, World } from './world.ts';

const perPage = 100;
/** How long after MongoDB, Kafka or S3 is back a process may still exit because it was away; milliseconds. */
const outageGraceMs = 15_000;
const awakeningMs = 2000;
const signedBeforeMs = 5000;
/** NOTIFIER_ORDER_WAIT_MS is not set in this test. */
const orderWaitMs = notifierConfig.NOTIFIER_ORDER_WAIT_MS.default;

/** A platform under load, as far as `unfinished` looks at it. */
export interface Observed {
  readonly tenants: readonly Tenant[];
  readonly headsets: readonly HeadsetProcess[];
  readonly admin: Admin;
  /** The metrics of transactions. */
  metrics(): Promise<string>;
}

export function observed({ stack, tenants, headsets }: World): Observed {
  const url = stack.adminUrls['transactions'] ?? stack.adminUrls['platform'];
  return {
    ...{ tenants, headsets, admin: createAdmin(stack.admin, undefined, [patient]) },
    metrics: async () => (await request(`${url}/metrics`)).body.text(),
  };
}

/** Describes what is unfinished; empty: the platform has finished everything that it accepted. */
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
    if (taken > 0) open.push(`${taken} places are taken at ${endpointId}`);
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

/** How many transactions the sweeper still has to look at. An ended transaction must not be among them. */
function dueTransactions(metrics: string): number {
  const [, count] = /^headset_transactions_due(?:\{.*\})? (\d+)$/m.exec(metrics) ?? [];
  if (count === undefined) throw new Error('transactions do not show what is due');
  return Number(count);
}

/** Reads everything that the judge needs, through the public APIs and the operators' API. */
export async function gather(world: World, open: readonly string[], tally: Tally): Promise<Evidence> {
  const admin = createAdmin(world.stack.admin, undefined, [patient]);
  const transactions: ListedTransaction[] = [];
  const settings: FinalSetting[] = [];
  const applications: ApplicationStanding[] = [];
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
    reports: world.tenants.flatMap((t) => t.said.reports),
    uploads: world.tenants.flatMap((t) => t.said.uploads),
    storedFiles: [...world.files.files].map(([file, content]) => ({
      file,
      sha256: createHash('sha256').update(content).digest('hex'),
    })),
    spent: world.tenants.flatMap((t) => t.said.spent),
    recorded: (await Promise.all(world.tenants.map((t) => gatherUsage(admin, t)))).flat(),
    bills: (await Promise.all(world.tenants.map(gatherBills))).flat(),
    settings,
    applications,
    packages: world.tenants.flatMap((t) => t.said.packages),
    deliverable: (await Promise.all(world.tenants.map(deliverablePackages))).flat(),
    soraEvents: world.tenants.flatMap((t) => t.said.soraEvents),
    recordings: world.tenants.flatMap((t) => t.said.recordings),
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
    readings: world.tenants.flatMap((t) => t.said.readings),
    unfinished: open,
    ownDeaths: ownDeaths(world.supervisor, tally),
    setAside: (
      await Promise.all(admin.deadLetters.map((one) => one.listDeadLetters({ limit: 1000, ended: true })))
    )
      .flatMap((answer) => answer.deadLetters)
      .map(({ topic, position, group, error }) => ({ position: `${topic}/${position}`, group, error })),
  };
}

/**
 * Uploads of recordings that were stopped because their lease had expired, found in the services' logs. On
 * an overloaded machine this happens without a fault.
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

/** A pod may just be going: what is refused with 503 is asked again, for so long. Milliseconds. */
const refusedForMs = 30_000;

/** The body that a reading call answers. */
async function read({ api }: Pick<Tenant, 'api'>, path: string): Promise<ApiAnswer['body']> {
  const untilMs = performance.now() + refusedForMs;
  for (;;) {
    const { status, headers, body } = await api.app('GET', path);
    if (status === 200) return body;
    if (status !== 503 || performance.now() > untilMs) throw new Error(`GET ${path} answered ${status}`);
    await pause(1000 * Number(headers['retry-after'] ?? 1));
  }
}

/** All transactions of an application, page by page. */
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

/** Callbacks that were given up. */
export async function deadDeliveries(admin: Admin): Promise<DeadDelivery[]> {
  const { deliveries } = await admin.notifier.listDeliveries({ status: 'dead', limit: 1000 });
  return deliveries.map(({ notificationId, attempts, createdAtMs, lastOutcome }) => ({
    ...{ notificationId, attempts, lastOutcome },
    ageMs: Date.now() - Number(createdAtMs),
  }));
}

/** Of the feeds' callbacks that did not arrive, those that operators see as replaced, given up or for the feed only. */
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

/** Callbacks that arrived and are not in the operators' history. */
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
 * Notifications that arrived after later ones although they were tried before them. A first attempt without a response
 * in time, for example because a process is frozen, does not delay later notifications (rule A20). Its request may still
 * arrive after theirs.
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

/** Notifications that overtook others after they had waited for them as long as permitted. */
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

/** Periods with a wrong clock in a process that signs callbacks; such callbacks may arrive a little later. */
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
  // A process that resumes, or has its database back, works on until it notices that its lease has expired.
  const pauses = [
    ...[...freezes, ...clocks].filter(uploads),
    ...outages.filter((o) => o.server === 'mongo' && (!o.process || uploads({ process: o.process }))),
  ];
  return [...deaths, ...pauses.map(({ fromMs, toMs }) => ({ fromMs, toMs: toMs + awakeningMs }))];
}

/** Processes that exited by themselves while everything they need was available, and not just back. */
function ownDeaths(supervisor: Supervisor, { outages }: Tally): string[] {
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
