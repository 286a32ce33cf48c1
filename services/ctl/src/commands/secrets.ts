import { create } from '@bufbuild/protobuf';
import { refusedError } from '@headset-cloud/cli/exit-codes.ts';
import {
  type PlaceReport,
  PlaceReportSchema,
  SecretsAdminService,
  type SecretsReport,
  SecretsReportSchema,
  type ServiceSecrets,
} from '@headset-cloud/proto/secrets/v1/admin_pb.ts';
import type { Command } from 'commander';
import type { AdminService } from '../connection.ts';
import type { Session } from '../session.ts';

/** The services that store values sealed with SECRET_KEY. */
const sealingServices = ['devices', 'transactions', 'updates', 'communication'] as const;

/**
 * Maximum number of runs of `reseal`, which repeats until a run moves nothing. Each process that still seals with a
 * former key causes one more run.
 */
const maxRuns = 10;

const byService = 'one line per service instead of the total';

/** `secrets status|reseal|forget`. */
export function addSecrets(program: Command, session: Session): void {
  const group = program.command('secrets').description('values sealed with SECRET_KEY, by key');

  group
    .command('status')
    .description('number of values of each kind that each key opens; reads all values')
    .option('--services', byService, false)
    .action(async ({ services }: { services: boolean }) => {
      const listeners = await findListeners(session);
      const { report } = await inspectAll(session, listeners, false);
      session.showMessage(SecretsReportSchema, report, (shown) => describe(session, shown, services));
      for (const line of unneededKeys(report)) session.terminal.err(line);
      requireAllOpened(report);
    });

  group
    .command('reseal')
    .description('reseal all values with SECRET_KEY; may be interrupted and run again')
    .option('--dry-run', 'only show how many values each key opens', false)
    .option('--services', byService, false)
    .action(async ({ dryRun, ...shown }: { dryRun: boolean; services: boolean }) => {
      const listeners = await findListeners(session);
      requireOneKey(listeners);
      let { report, changed } = await inspectAll(session, listeners, !dryRun);
      let moved = movedIn(report);
      for (let run = 1; !dryRun && movedIn(report) + changed > 0; run += 1) {
        if (run === maxRuns) {
          throw refusedError(
            `Values are still sealed with another key after ${run} runs. Change SECRET_KEY of every process, and run it again.`,
          );
        }
        ({ report, changed } = await inspectAll(session, listeners, true));
        moved += movedIn(report);
      }
      if (!dryRun) {
        await forgetUnused(session, listeners, report);
        session.terminal.err(`${moved} values moved.\n`);
        for (const line of leftOver(report)) session.terminal.err(line);
      }
      const services = [...(await findListeners(session)).values()].map(({ secrets }) => secrets);
      session.showMessage(SecretsReportSchema, { ...report, services }, (all) =>
        describe(session, all, shown.services),
      );
      requireAllOpened(report);
    });

  group
    .command('forget <keyId>')
    .description('forget a lost key: its values stay unreadable, and processes without the key become ready')
    .action(async (key: string) => {
      const listeners = [...(await findListeners(session)).values()];
      const needing = listeners.filter(({ secrets }) => secrets.notedKeys.includes(key));
      if (needing.length === 0) throw refusedError(`No service needs key ${key}.`);
      for (const { listener, secrets } of needing) {
        await session.call(listener, SecretsAdminService, (c) =>
          c.forgetSecretKey({ service: secrets.service, key }),
        );
        session.terminal.out(`${secrets.service} has forgotten key ${key}.\n`);
      }
    });
}

interface Listener {
  readonly listener: AdminService;
  readonly secrets: ServiceSecrets;
}

/**
 * The listener of each service, by the service's name. If all services share one admin port, the first listener answers
 * for all of them.
 */
async function findListeners(session: Session): Promise<Map<string, Listener>> {
  const listeners = new Map<string, Listener>();
  for (const listener of sealingServices) {
    const { services } = await session.call(listener, SecretsAdminService, (c) => c.getSecrets({}));
    for (const secrets of services) {
      if (!listeners.has(secrets.service)) listeners.set(secrets.service, { listener, secrets });
    }
  }
  return listeners;
}

/** Throws if processes seal with different keys, because moved values would be moved back. */
function requireOneKey(listeners: ReadonlyMap<string, Listener>): void {
  const keys = [...listeners.values()].map(({ secrets }) => `${secrets.service} by ${secrets.sealingKey}`);
  if (new Set([...listeners.values()].map(({ secrets }) => secrets.sealingKey)).size > 1) {
    throw refusedError(
      `The services seal with several keys (${keys.join(', ')}). Give all processes the same SECRET_KEY first.`,
    );
  }
}

/** `changed`: number of values that changed during the run and were therefore not moved. */
async function inspectAll(
  session: Session,
  listeners: ReadonlyMap<string, Listener>,
  reseal: boolean,
): Promise<{ report: SecretsReport; changed: number }> {
  const places: PlaceReport[] = [];
  let changed = 0;
  for (const { listener, secrets } of listeners.values()) {
    for (const place of secrets.places) {
      const inspected = await inspect(session, listener, secrets.service, place, reseal);
      places.push(inspected.report);
      changed += inspected.changed;
    }
  }
  const services = [...listeners.values()].map(({ secrets }) => secrets);
  return { report: create(SecretsReportSchema, { services, places }), changed };
}

/** Reads all values of a service. Writes at most one line of progress per answer to standard error. */
async function inspect(
  session: Session,
  listener: AdminService,
  service: string,
  place: string,
  reseal: boolean,
): Promise<{ report: PlaceReport; changed: number }> {
  const counts = new Map<string, number>();
  const unopened: PlaceReport['unopened'] = [];
  let moved = 0;
  let changed = 0;
  let after = '';
  for (let answers = 1; ; answers += 1) {
    const answer = await session.call(listener, SecretsAdminService, (c) =>
      c.lookThroughSecrets({ service, place, after, reseal }),
    );
    for (const { key, values } of answer.keys) counts.set(key, (counts.get(key) ?? 0) + values);
    unopened.push(...answer.unopened);
    moved += answer.moved;
    // The next run reads these values again.
    changed += answer.changed;
    after = answer.next;
    const done = after === '';
    if (done || answers % 10 === 0) {
      const seen = [...counts.values()].reduce((sum, n) => sum + n, unopened.length);
      const progress = `${service}: ${place}: ${seen} checked${reseal ? `, ${moved} moved` : ''}`;
      session.terminal.err(`${progress}${done ? '' : ' …'}\n`);
    }
    if (done) break;
  }
  const keys = [...counts].map(([key, values]) => ({ key, values }));
  const report = create(PlaceReportSchema, { service, place, keys, moved, unopened });
  return { report, changed };
}

function movedIn({ places }: SecretsReport): number {
  return places.reduce((sum, { moved }) => sum + moved, 0);
}

/** Lets services forget keys that opened nothing in a whole run. */
async function forgetUnused(
  session: Session,
  listeners: ReadonlyMap<string, Listener>,
  { places }: SecretsReport,
): Promise<void> {
  for (const { listener, secrets } of listeners.values()) {
    const { service, sealingKey } = secrets;
    const own = places.filter((one) => one.service === service);
    const needed = new Set(own.flatMap(({ keys }) => keys.map(({ key }) => key)));
    // A value that does not open may be sealed with any key that this process does not have.
    const unopened = own.some((one) => one.unopened.length > 0);
    const configured = new Set([sealingKey, ...secrets.otherKeys]);
    for (const key of secrets.notedKeys) {
      if (key === sealingKey || needed.has(key) || (unopened && !configured.has(key))) continue;
      await session.call(listener, SecretsAdminService, (c) => c.forgetSecretKey({ service, key }));
    }
  }
}

/**
 * Keys that services still list although no value needs them, for example after the end of the last update with a
 * ticket.
 */
function unneededKeys({ services, places }: SecretsReport): string[] {
  // A value that does not open may be sealed with any key that its process does not have.
  if (places.some(({ unopened }) => unopened.length > 0)) return [];
  const needed = new Set([
    ...services.map(({ sealingKey }) => sealingKey),
    ...places.flatMap(({ keys }) => keys.map(({ key }) => key)),
  ]);
  const unneeded = new Set(services.flatMap(({ notedKeys }) => notedKeys.filter((key) => !needed.has(key))));
  return [...unneeded].map((key) => {
    const listing = services.filter(({ notedKeys }) => notedKeys.includes(key)).map(({ service }) => service);
    return `No value needs key ${key} any more. \`ctl secrets reseal\` makes ${listing.join(', ')} forget the key. Until then a process without the key waits at its start.\n`;
  });
}

/**
 * Describes the values that stay sealed with another key. These values are tickets of updates: they cannot be resealed,
 * because headsets have copies.
 */
function leftOver({ services, places }: SecretsReport): string[] {
  const sealingKeys = new Set(services.map(({ sealingKey }) => sealingKey));
  const left = new Map<string, { values: number; where: string[] }>();
  for (const { service, place, keys } of places) {
    for (const { key, values } of keys) {
      if (sealingKeys.has(key)) continue;
      const { values: before = 0, where = [] } = left.get(key) ?? {};
      left.set(key, { values: before + values, where: [...where, `${service}: ${place}`] });
    }
  }
  return [...left].map(
    ([key, { values, where }]) =>
      `${values} values cannot be moved from key ${key} (${where.join(', ')}). Leave it in SECRET_KEY_OTHERS, and run \`ctl secrets reseal\` again when these values no longer exist.\n`,
  );
}

function requireAllOpened({ places }: SecretsReport): void {
  const count = places.reduce((sum, { unopened }) => sum + unopened.length, 0);
  if (count === 0) return;
  throw refusedError(
    `${count} values are opened by no configured key. Put their key into SECRET_KEY_OTHERS, or create the values again.`,
  );
}

/** Number of values of a kind that a key opens. */
interface Count {
  /** The service; absent: the total of all services. */
  readonly service?: string;
  readonly place: string;
  readonly key: string;
  readonly values: number;
}

function countsOf(places: readonly PlaceReport[], perService: boolean): Count[] {
  const sums = new Map<string, Count>();
  for (const { service, place, keys } of places) {
    for (const { key, values } of keys) {
      const id = [key, place, ...(perService ? [service] : [])].join('\0');
      const sum = values + (sums.get(id)?.values ?? 0);
      sums.set(id, { ...(perService && { service }), place, key, values: sum });
    }
  }
  return [...sums.values()];
}

function describe({ table }: Session, { services, places }: SecretsReport, perService: boolean): string {
  const roles = new Map<string, string>();
  for (const { sealingKey, otherKeys, notedKeys } of services) {
    for (const key of notedKeys) if (!roles.has(key)) roles.set(key, 'not configured');
    for (const key of otherKeys) roles.set(key, 'opens only');
    roles.set(sealingKey, 'seals');
  }
  const needed = (key: string) => services.filter((one) => one.notedKeys.includes(key));
  const unopened = places.flatMap((one) => one.unopened.map((value) => ({ ...one, ...value })));
  return [
    table(
      [...roles],
      [
        ['KEY', ([key]) => key],
        ['ROLE', ([, role]) => role],
        [
          'NEEDED BY',
          ([key]) =>
            needed(key)
              .map(({ service }) => service)
              .join(', '),
        ],
      ],
      'No keys.',
    ),
    '\n',
    table(
      countsOf(places, perService),
      [
        ...(perService ? [['SERVICE', (one: Count) => one.service ?? ''] as const] : []),
        ['WHAT', (one) => one.place],
        ['KEY', (one) => one.key],
        ['VALUES', (one) => String(one.values)],
      ],
      'Nothing is sealed.',
    ),
    ...(unopened.length === 0
      ? []
      : [
          '\n',
          table(
            unopened,
            [
              ['SERVICE', (one) => one.service],
              ['NOT OPENED', (one) => one.place],
              ['OF', (one) => one.of],
              ['SEALED BY', (one) => one.key],
            ],
            '',
          ),
        ]),
  ].join('');
}
