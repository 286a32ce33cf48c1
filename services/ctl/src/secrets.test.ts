import { fromBinary } from '@bufbuild/protobuf';
import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import { createAdminServer } from '@headset-cloud/process/admin-server.ts';
import { type AuditRecord, AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import { createOperatorsOutbox } from '@headset-cloud/rules/audit/operators-outbox.ts';
import { secretsAdmin } from '@headset-cloud/rules/sealed/admin.ts';
import { type SealedLocation, sealedFields } from '@headset-cloud/rules/sealed/locations.ts';
import { createNotedKeys } from '@headset-cloud/rules/sealed/noted-keys.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createSecretBox, keyIdOf } from '@headset-cloud/runtime/secrets.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { Registry } from 'prom-client';
import { run } from './testing/run.ts';

const former = 'the former key of more than thirty-two characters';
const next = 'the next key of more than thirty-two characters';
const lost = 'a lost key of more than thirty-two characters';
const [formerId, nextId, lostId] = [keyIdOf(former), keyIdOf(next), keyIdOf(lost)];
const logger = createLogger({ service: 'test', level: 'silent' });

interface Thing {
  _id: string;
  secret: string;
}

let bed: TestBed;
let things: StoreCollection<Thing>;
const open: { stop(): Promise<void> }[] = [];
/** Log for audit records; a test may make it fail. */
let log: Pick<EventLog, 'publish'>;
/** The next move of a value finds that the value has changed. */
let changesOnce: boolean;
/** False: no value can be moved, like tickets that headsets have copies of. */
let movable: boolean;
beforeEach(async () => {
  bed = openTestBed('devices', { onMongo: true });
  await bed.log.ensureTopics([topics.audit]);
  log = bed.log;
  movable = true;
  changesOnce = false;
  things = bed.store.collection<Thing>('things');
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.stop()));
  await bed.remove();
});

/** A real admin port of a service with the keys. */
async function serve(service: string, secret: string, ...others: string[]): Promise<string> {
  const secrets = createSecretBox(secret, others);
  const noted = createNotedKeys({ store: bed.store, secrets, logger });
  const audit = createOperatorsOutbox({
    ...{ store: bed.store, logger, clock: systemClock },
    metrics: new Registry(),
    log: {
      ensureTopics: (names) => bed.log.ensureTopics(names),
      publish: (topic, events) => log.publish(topic, events),
    },
  });
  audit.start();
  open.push(audit);
  const fields = sealedFields(things, {
    name: 'things',
    projection: { secret: 1 },
    fields: ({ _id, secret: text }) => [{ path: 'secret', text, purpose: _id }],
  });
  const location: SealedLocation = {
    name: fields.name,
    async page(after, limit) {
      const { values, ...rest } = await fields.page(after, limit);
      if (!movable) return { ...rest, values: values.map(({ replace, ...value }) => value) };
      const changing = values.map(({ replace, ...value }) => ({
        ...value,
        async replace(sealed: Uint8Array) {
          if (!changesOnce) return (await replace?.(sealed)) ?? false;
          changesOnce = false;
          return false;
        },
      }));
      return { ...rest, values: changing };
    },
  };
  const server = createAdminServer({
    service,
    listen: { host: '127.0.0.1', port: 0 },
    token: undefined,
    bindings: [secretsAdmin(secrets, [{ service, locations: [location], noted, audit }])],
    metrics: new Registry(),
    notReady: () => [],
    logger,
  });
  // A process without a needed key waits, and serves operators in the meantime.
  await noted.check().catch(() => {});
  await server.start();
  open.push(server);
  return `http://127.0.0.1:${server.port()}`;
}

// Moving 200 values takes longer than the default of 10 s on a busy machine.
const ctl = (args: string, env: Record<string, string>) => run(`--timeout-ms 60000 ${args}`, env);

const put = async (secret: string, count: number, prefix = 'thing') => {
  for (let n = 0; n < count; n += 1) {
    const _id = `${prefix}-${n}`;
    const sealed = createSecretBox(secret).seal(`text ${n}`, _id);
    await things.insertOne({ _id, secret: Buffer.from(sealed).toString('base64') });
  }
};

test('reseal moves all values, and then no value needs the former key', async () => {
  await put(former, 201);
  await serve('devices', former);
  const env = { ADMIN_URL: await serve('devices', next, former) };
  const before = await ctl('secrets status', env);
  expect(before).toEqual({
    code: 0,
    out: [
      'KEY           ROLE        NEEDED BY',
      ...[`${formerId}  opens only  devices`, `${nextId}  seals       devices`],
      '',
      'WHAT    KEY           VALUES',
      `things  ${formerId}  201`,
      '',
    ].join('\n'),
    err: 'devices: things: 201 checked\n',
  });
  expect((await ctl('secrets reseal --dry-run', env)).out).toBe(before.out);
  const moved = await ctl('secrets reseal', env);
  expect(moved.code).toBe(0);
  expect(moved.err).toBe(
    'devices: things: 201 checked, 201 moved\ndevices: things: 201 checked, 0 moved\n201 values moved.\n',
  );
  expect(moved.out).toContain(`${formerId}  opens only  -\n`);
  expect(moved.out).toContain(`\nthings  ${nextId}  201\n`);
  expect(await ctl(`secrets forget ${nextId}`, env)).toMatchObject({
    code: 1,
    err: expect.stringContaining('it cannot be forgotten'),
  });
  const alone = await serve('devices', next);
  expect(JSON.parse((await ctl('--json secrets status', { ADMIN_URL: alone })).out)).toMatchObject({
    services: [{ service: 'devices', sealingKey: nextId, otherKeys: [], notedKeys: [nextId] }],
    places: [{ service: 'devices', place: 'things', keys: [{ key: nextId, values: 201 }], unopened: [] }],
  });
});

test('a value that changes during a run is moved by the next run, and counted once', async () => {
  await put(former, 2);
  await serve('devices', former);
  const env = { ADMIN_URL: await serve('devices', next, former) };
  changesOnce = true;
  const { code, err } = await ctl('secrets reseal', env);
  expect([code, err]).toEqual([
    0,
    [
      'devices: things: 2 checked, 1 moved',
      'devices: things: 2 checked, 1 moved',
      'devices: things: 2 checked, 0 moved',
      '2 values moved.',
      '',
    ].join('\n'),
  ]);
});

test('a key that no value needs but a service still lists is reported, and so are values that reseal could not move', async () => {
  await put(former, 2);
  await serve('devices', former);
  const env = { ADMIN_URL: await serve('devices', next, former) };
  movable = false;
  const left = await ctl('secrets reseal', env);
  expect(left.code).toBe(0);
  expect(left.out).toContain(`${formerId}  opens only  devices\n`);
  expect(left.err).toBe(
    'devices: things: 2 checked, 0 moved\n0 values moved.\n' +
      `2 values cannot be moved from key ${formerId} (devices: things). Leave it in SECRET_KEY_OTHERS, and run \`ctl secrets reseal\` again when these values no longer exist.\n`,
  );
  expect((await ctl('secrets reseal --dry-run', env)).err).toBe('devices: things: 2 checked\n');
  await things.deleteMany({});
  const gone = `No value needs key ${formerId} any more. \`ctl secrets reseal\` makes devices forget the key. Until then a process without the key waits at its start.\n`;
  expect(await ctl('secrets status', env)).toMatchObject({
    code: 0,
    err: `devices: things: 0 checked\n${gone}`,
  });
  expect(await ctl('secrets reseal', env)).toMatchObject({
    code: 0,
    err: 'devices: things: 0 checked, 0 moved\n0 values moved.\n',
  });
  expect((await ctl('secrets status', env)).err).toBe('devices: things: 0 checked\n');
});

test('a value that no key opens is reported with its document, the rest is moved, and the exit code is 1', async () => {
  await put(lost, 1, 'lost');
  await put(former, 2);
  await serve('devices', former);
  const env = { ADMIN_URL: await serve('devices', next, former) };
  const run = await ctl('secrets reseal', env);
  expect(run.code).toBe(1);
  expect(run.err).toContain('2 values moved.\n1 values are opened by no configured key.');
  expect(run.out).toMatch(/devices {2}things {6}lost-0 {2}-\n/);
  expect(run.out).toContain(`\nthings  ${nextId}  2\n`);
});

test('nothing is moved while services seal with several keys', async () => {
  await put(former, 1);
  const [DEVICES_ADMIN, UPDATES_ADMIN] = [
    await serve('devices', former, next),
    await serve('updates', next, former),
  ];
  const others = { TRANSACTIONS_ADMIN: DEVICES_ADMIN, COMMUNICATION_ADMIN: DEVICES_ADMIN };
  const run = await ctl('secrets reseal', { DEVICES_ADMIN, UPDATES_ADMIN, ...others });
  expect(run).toMatchObject({ code: 1, out: '' });
  expect(run.err).toContain(`devices by ${formerId}, updates by ${nextId}`);
});

test('a lost key is forgotten by its id, the sealing key never', async () => {
  await serve('devices', lost);
  const env = { ADMIN_URL: await serve('devices', next) };
  expect((await ctl('secrets status', env)).out).toContain(`${lostId}  not configured  devices\n`);
  expect(await ctl(`secrets forget ${lostId}`, env)).toEqual({
    ...{ code: 0, out: `devices has forgotten key ${lostId}.\n`, err: '' },
  });
  expect((await ctl('secrets status', env)).out).not.toContain(lostId);
  expect((await ctl('secrets forget nothing', env)).code).toBe(1);
});

const records = async (): Promise<AuditRecord[]> =>
  (await bed.log.readNewest(topics.audit, 100)).map(({ value }) => fromBinary(AuditRecordSchema, value));
const recorded = (count: number) =>
  waitFor(`${count} records`, async () => {
    const found = await records();
    return found.length >= count && found;
  });

test('each call of reseal that moves values, and each forgotten key, leaves an audit record', async () => {
  await put(former, 201);
  await serve('devices', former);
  const env = { OPERATOR: 'Kim 金', ADMIN_URL: await serve('devices', next, former) };
  const fromMs = Date.now();
  // Commands that only read leave no record.
  expect((await ctl('secrets status', env)).code).toBe(0);
  expect((await ctl('secrets reseal --dry-run', env)).code).toBe(0);
  expect((await ctl('secrets reseal', env)).code).toBe(0);
  // 201 values are two pages. The run that finds no more values leaves no record.
  const found = await recorded(3);
  expect(found.map(({ action, target, fields }) => [action, target, fields.join()])).toEqual([
    ['secrets.LookThroughSecrets', `devices/things/${nextId}`, 'sealing key'],
    ['secrets.LookThroughSecrets', `devices/things/${nextId}`, 'sealing key'],
    ['secrets.ForgetSecretKey', `devices/${formerId}`, ''],
  ]);
  for (const { actor, atMs } of found) {
    expect(actor).toMatchObject({ operator: 'Kim 金', clientId: '', address: '127.0.0.1' });
    expect(actor?.requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(Number(atMs)).toBeGreaterThanOrEqual(fromMs);
    expect(Number(atMs)).toBeLessThanOrEqual(Date.now());
  }
  expect((await ctl('secrets reseal', env)).code).toBe(0);
  expect(await records()).toHaveLength(3);
});

test('while the log of records is unavailable the change keeps its record, which is published afterwards, once', async () => {
  await serve('devices', lost);
  const env = { ADMIN_URL: await serve('devices', next) };
  log = { publish: () => Promise.reject(new Error('away')) };
  expect((await ctl(`secrets forget ${lostId}`, env)).code).toBe(0);
  expect((await ctl('secrets status', env)).out).not.toContain(lostId);
  expect(await records()).toEqual([]);
  log = bed.log;
  // The outbox of a new process, as after a restart.
  await serve('devices', next);
  expect(await recorded(1)).toMatchObject([
    { action: 'secrets.ForgetSecretKey', target: `devices/${lostId}` },
  ]);
  const keys = bed.store.collection<{ _id: string; auditAtMs?: number }>('secretKeys');
  await waitFor('no record is pending', async () => !(await keys.findOne({ auditAtMs: { $gt: 0 } })));
  expect(await records()).toHaveLength(1);
});

test('a kind of data of several services is one line for each key; --services shows each service', async () => {
  await put(former, 3);
  await put(next, 2, 'new');
  // Both have the same values.
  const [DEVICES_ADMIN, UPDATES_ADMIN] = [
    await serve('devices', next, former),
    await serve('updates', next, former),
  ];
  const env = { ...{ DEVICES_ADMIN, UPDATES_ADMIN }, TRANSACTIONS_ADMIN: DEVICES_ADMIN };
  const all = { ...env, COMMUNICATION_ADMIN: DEVICES_ADMIN };
  const lines = async (args: string) =>
    (await ctl(args, all)).out.split('\n').filter((line) => / {2}\d+$/.test(line));
  expect((await lines('secrets status')).sort()).toEqual(
    [`things  ${formerId}  6`, `things  ${nextId}  4`].sort(),
  );
  const each = [
    `devices  things  ${formerId}  3`,
    `devices  things  ${nextId}  2`,
    `updates  things  ${formerId}  3`,
    `updates  things  ${nextId}  2`,
  ];
  expect((await lines('secrets status --services')).sort()).toEqual(each.sort());
  expect((await lines('secrets reseal --dry-run --services')).sort()).toEqual(each);
});
