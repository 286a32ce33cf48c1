import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { ArtifactKind, ArtifactState } from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { callerOf, World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await new World({ UPDATES_DOWNLOAD_URL_SECONDS: '5' }).start();
  world.devices.firmware.set(device, '9.001.0');
});
afterEach(() => world.close());

const device = '356938035643809';
const other = '356938035643817';

async function put(url: string, body: Buffer, contentType: string): Promise<number> {
  const answer = await fetch(url, {
    method: 'PUT',
    body: new Uint8Array(body),
    headers: { 'content-type': contentType },
  });
  await answer.text();
  return answer.status;
}

async function putApp(name: string, version: string, developer: 'a' | 'b' = 'a'): Promise<Buffer> {
  const bytes = await makeApk({ package: name, versionName: version });
  const { urls } = await world.updates.requestUpload({
    ...{ caller: callerOf(developer), package: name, version, sizeBytes: BigInt(bytes.length) },
  });
  expect(await put(urls[0]?.uploadUrl ?? '', bytes, 'application/vnd.android.package-archive')).toBe(200);
  return bytes;
}

async function putFirmware(version: string, bytes = Buffer.from(`firmware ${version}`)): Promise<Buffer> {
  const { uploadUrl } = await world.admin.putFirmware({
    ...{ package: 'com.vendor.firmware', version, sizeBytes: BigInt(bytes.length) },
  });
  expect(await put(uploadUrl, bytes, 'application/octet-stream')).toBe(200);
  return bytes;
}

const listed = async (query: object = {}, developer: 'a' | 'b' = 'a') => {
  const { appVersions, totalCount } = await world.updates.listApps({ caller: callerOf(developer), ...query });
  return [totalCount, ...appVersions.map((v) => `${v.package.replace('com.example.', '')} ${v.version}`)];
};

test('the list has the developer’s deliverable versions, by package, newest first', async () => {
  for (const version of ['1.9', '1.10', '1.2.0']) await putApp('com.example.b', version);
  await putApp('com.example.a', '1');
  await putApp('com.example.c', '1', 'b');
  await world.updates.requestUpload({
    caller: callerOf(),
    package: 'com.example.d',
    version: '1',
    sizeBytes: 1n,
  });
  expect(await listed()).toEqual([4, 'a 1', 'b 1.10', 'b 1.9', 'b 1.2.0']);
  expect(await listed({}, 'b')).toEqual([1, 'c 1']);
  expect(await listed({ latest: true })).toEqual([2, 'a 1', 'b 1.10']);
  expect(await listed({ package: 'com.example.b' })).toEqual([3, 'b 1.10', 'b 1.9', 'b 1.2.0']);
  expect(await listed({ package: 'com.example.b', latest: true })).toEqual([1, 'b 1.10']);
  expect(await listed({ package: 'com.example.c' })).toEqual([0]);
  expect(await listed({ offset: 1, limit: 2 })).toEqual([4, 'b 1.10', 'b 1.9']);
  expect(await listed({ offset: 4 })).toEqual([4]);
  expect(await listed({ latest: true, offset: 1, limit: 1 })).toEqual([2, 'b 1.10']);
  expect(await listed({ limit: 1000 })).toHaveLength(5);
  await expect(listed({ limit: 1001 })).rejects.toMatchObject({
    ...{ code: 'invalid_argument', message: 'limit must be from 1 to 1000.' },
  });
});

test('an app update is sent with everything that the headset needs to download and verify it', async () => {
  const bytes = await putApp('com.example.a', '1.0');
  const { transactionId } = await world.updates.updateApp({
    ...{ caller: callerOf(), deviceId: device, package: 'com.example.a', version: '1.0' },
  });
  expect(transactionId).toBe(1n);
  const [sent] = world.devices.sent;
  expect(sent).toMatchObject({
    deviceId: device,
    operationId: 'put-v1-applications-devices-apps',
    subject: 'com.example.a@1.0',
    caller: { clientId: 'client-a', applicationId: 'app' },
  });
  expect(sent?.operation?.kind).toMatchObject({
    case: 'updateApp',
    value: {
      package: 'com.example.a',
      version: '1.0',
      artifact: {
        sizeBytes: BigInt(bytes.length),
        sha256: new Uint8Array(createHash('sha256').update(bytes).digest()),
      },
    },
  });
});

test.each<[string, string, 'a' | 'b', string]>([
  ['com.example.a', '2.0', 'a', '/version 2.0 of com.example.a is not in the catalogue.'],
  ['com.example.x', '1.0', 'a', '/version 1.0 of com.example.x is not in the catalogue.'],
  // A version of another developer has the same message as a version that does not exist.
  ['com.example.a', '1.0', 'b', '/version 1.0 of com.example.a is not in the catalogue.'],
  [
    'com.example.a',
    '0.9',
    'a',
    '/version 0.9 of com.example.a cannot be delivered: its upload is not complete.',
  ],
  ['com.example.a', '0.8', 'a', '/version 0.8 of com.example.a was withdrawn.'],
])('%s %s of developer %s cannot be installed', async (name, version, developer, message) => {
  await putApp('com.example.a', '1.0');
  await putApp('com.example.a', '0.8');
  await world.admin.withdrawArtifact({
    kind: ArtifactKind.SOFTWARE,
    package: 'com.example.a',
    version: '0.8',
  });
  await world.updates.requestUpload({
    caller: callerOf(),
    package: 'com.example.a',
    version: '0.9',
    sizeBytes: 1n,
  });
  const caller = callerOf(developer);
  await expect(
    world.updates.updateApp({ caller, deviceId: device, package: name, version }),
  ).rejects.toMatchObject({ code: 'invalid_body', message });
  expect(world.devices.sent).toEqual([]);
});

describe('a version is withdrawn by its developer', () => {
  const name = 'com.example.a';
  const withdraw = (developer: 'a' | 'b' = 'a', key?: string, version = '1.0') =>
    world.updates.withdrawApp({ caller: callerOf(developer, key), package: name, version });
  const update = () =>
    world.updates.updateApp({ caller: callerOf(), deviceId: device, package: name, version: '1.0' });

  test('and uploaded again, with other content; the first URL accepts no more uploads', async () => {
    const first = await makeApk({ package: name, versionName: '1.0' });
    const request = { caller: callerOf(), package: name, version: '1.0' };
    const { urls } = await world.updates.requestUpload({ ...request, sizeBytes: BigInt(first.length) });
    const url = urls[0]?.uploadUrl ?? '';
    const type = 'application/vnd.android.package-archive';
    expect(await put(url, first, type)).toBe(200);
    const other = Buffer.from(first).fill(1, 0, 4);
    expect([await put(url, other, type), await put(url, first, type)]).toEqual([409, 409]);
    expect(await withdraw()).toMatchObject({ package: name, version: '1.0' });
    expect(await listed()).toEqual([0]);
    await expect(update()).rejects.toMatchObject({
      message: '/version 1.0 of com.example.a cannot be delivered: Its developer has withdrawn it.',
    });
    const again = await makeApk({
      package: name,
      versionName: '1.0',
      entries: { 'b.dex': Buffer.from('b') },
    });
    const next = await world.updates.requestUpload({ ...request, sizeBytes: BigInt(again.length) });
    expect(await put(url, first, type)).toBe(409);
    expect(await put(next.urls[0]?.uploadUrl ?? '', again, type)).toBe(200);
    await update();
    const { kind } = world.devices.sent[0]?.operation ?? {};
    expect(kind).toMatchObject({ value: { artifact: { sizeBytes: BigInt(again.length) } } });
  });

  test('once for all repeats; a repeat does not withdraw a version that was uploaded since', async () => {
    await putApp(name, '1.0');
    await withdraw('a', 'key');
    await withdraw();
    await putApp(name, '1.0');
    await withdraw('a', 'key');
    expect(await listed()).toEqual([1, 'a 1.0']);
    const records = await world.bed.log.readNewest(topics.audit, 100);
    expect(records).toHaveLength(1);
  });

  test('also if the process dies right after the withdrawal, and its file is removed', async () => {
    await putApp(name, '1.0');
    world.cutAt = 'after store updates.artifacts.withdrawals';
    await expect(withdraw('a', 'key')).rejects.toThrow();
    await withdraw('a', 'key');
    expect(await listed()).toEqual([0]);
  });

  test('not if an update was ever sent with it', async () => {
    await putApp(name, '1.0');
    await update();
    await expect(withdraw()).rejects.toMatchObject({
      code: 'conflict',
      message: '1.0 of com.example.a cannot be withdrawn: an update may have been sent with it.',
    });
    expect(await listed()).toEqual([1, 'a 1.0']);
  });

  test('not if release 0.1.0 created it, because an update may have been sent', async () => {
    await putApp(name, '1.0');
    await world.bed.store.collection('artifacts').updateMany({}, { $unset: { named: '' } });
    await expect(withdraw()).rejects.toMatchObject({ code: 'conflict' });
    await update();
  });

  test('not if it is another developer’s, not uploaded, or withdrawn by an operator', async () => {
    await putApp(name, '1.0');
    await expect(withdraw('b')).rejects.toMatchObject({
      ...{ code: 'not_found', message: '1.0 of com.example.a is not in the catalogue.' },
    });
    await expect(withdraw('a', undefined, '2.0')).rejects.toMatchObject({ code: 'not_found' });
    await world.updates.requestUpload({ caller: callerOf(), package: name, version: '2.0', sizeBytes: 1n });
    await expect(withdraw('a', undefined, '2.0')).rejects.toMatchObject({ code: 'not_found' });
    await world.admin.withdrawArtifact({ kind: ArtifactKind.SOFTWARE, package: name, version: '1.0' });
    await expect(withdraw()).rejects.toMatchObject({
      ...{ code: 'conflict', message: '1.0 of com.example.a was withdrawn by an operator.' },
    });
  });

  test('or sent in an update, never both: a version of an accepted update cannot be withdrawn', async () => {
    await putApp(name, '1.0');
    // The update has noted the version, and its process dies before the transaction exists.
    world.cutAt = 'after store updates.artifacts.named';
    await expect(update()).rejects.toThrow();
    await expect(withdraw()).rejects.toMatchObject({ code: 'conflict' });
    for (let version = 1; version <= 10; version += 1) {
      await putApp(name, `3.${version}`);
      const asked = { caller: callerOf(), package: name, version: `3.${version}` };
      const [updated, withdrawn] = await Promise.allSettled([
        world.updates.updateApp({ ...asked, deviceId: device }),
        world.updates.withdrawApp(asked),
      ]);
      expect([updated.status, withdrawn.status].sort()).toEqual(['fulfilled', 'rejected']);
    }
  });
});

test('firmware is listed newest first, and sent to a device that has an older, the same or an unknown one', async () => {
  for (const version of ['9.001.0', '9.1.0', '9.10', '8.9']) await putFirmware(version);
  const { firmwareVersions } = await world.updates.listFirmware({ caller: callerOf() });
  expect(firmwareVersions.map((v) => [v.package, v.version])).toEqual(
    ['9.10', '9.1.0', '9.001.0', '8.9'].map((v) => ['com.vendor.firmware', v]),
  );
  world.devices.firmware.set(other, undefined);
  const update = (deviceId: string, version: string) =>
    world.updates.updateFirmware({ caller: callerOf(), deviceId, version });
  await update(device, '9.10');
  await update(device, '9.1.0');
  await update(other, '8.9');
  expect(world.devices.sent.map((s) => [s.deviceId, s.subject, s.operationId])).toEqual([
    [device, '9.10', 'put-v1-applications-devices-firmware'],
    [device, '9.1.0', 'put-v1-applications-devices-firmware'],
    [other, '8.9', 'put-v1-applications-devices-firmware'],
  ]);
  expect(world.devices.sent[0]?.operation?.kind).toMatchObject({
    ...{ case: 'updateFirmware', value: { version: '9.10', artifact: { sizeBytes: 13n } } },
  });
});

test('a version that is not in the catalogue is rejected, before any error of devices', async () => {
  await putFirmware('9.000.9');
  const update = (deviceId: string, version: string) =>
    world.updates.updateFirmware({ caller: callerOf(), deviceId, version });
  await expect(update('350000000000000', '7')).rejects.toMatchObject({
    ...{ code: 'invalid_body', message: '/version 7 of the firmware is not in the catalogue.' },
  });
  const message = 'The firmware version 9.000.9 is older than 9.001.0, which the device has.';
  world.devices.refusal = new DomainError('invalid_argument', message);
  await expect(update(device, '9.000.9')).rejects.toMatchObject({ code: 'invalid_argument', message });
  expect(world.devices.sent).toEqual([]);
});

test('a repeat under an Idempotency-Key gets the same answer, whatever has changed in device and catalogue', async () => {
  await putFirmware('9.2');
  const call = { caller: callerOf('a', 'key'), deviceId: device, version: '9.2' };
  world.devices.refusal = new DomainError('unavailable', 'away');
  await expect(world.updates.updateFirmware(call)).rejects.toMatchObject({ code: 'unavailable' });
  world.devices.refusal = undefined;
  expect((await world.updates.updateFirmware(call)).transactionId).toBe(1n);
  world.devices.firmware.set(device, '9.3');
  await world.admin.withdrawArtifact({
    kind: ArtifactKind.FIRMWARE,
    package: 'com.vendor.firmware',
    version: '9.2',
  });
  expect((await world.updates.updateFirmware(call)).transactionId).toBe(1n);
  expect(world.devices.sent).toHaveLength(1);
});

test('an error of devices is passed on, and the call may be retried with the same key', async () => {
  await putApp('com.example.a', '1.0');
  const call = { caller: callerOf('a', 'key'), deviceId: device, package: 'com.example.a', version: '1.0' };
  world.devices.refusal = new DomainError('destination_not_set', 'deviceEvent is not set.');
  await expect(world.updates.updateApp(call)).rejects.toMatchObject({ code: 'destination_not_set' });
  world.devices.refusal = undefined;
  expect((await world.updates.updateApp(call)).transactionId).toBe(1n);
});

async function ticketFor(deviceId = device): Promise<Uint8Array> {
  await world.updates.updateApp({
    ...{ caller: callerOf(), deviceId, package: 'com.example.a', version: '1.0' },
  });
  const kind = world.devices.sent.at(-1)?.operation?.kind;
  return (kind?.case === 'updateApp' && kind.value.artifact?.ticket) || new Uint8Array();
}

test('a headset exchanges its ticket for a URL that serves ranges, and for a new URL after expiry and after a restart', async () => {
  const bytes = await putApp('com.example.a', '1.0');
  const ticket = await ticketFor();
  const first = await world.downloads.getDownloadUrl({ deviceId: device, ticket });
  expect(first.refusal).toBe(UrlRefusal.UNSPECIFIED);
  expect(Number(first.expiresAtMs)).toBe(Math.floor(world.nowMs / 1000) * 1000 + 5000);
  const part = await fetch(first.url, { headers: { range: 'bytes=10-19' } });
  expect([part.status, Buffer.from(await part.arrayBuffer())]).toEqual([206, bytes.subarray(10, 20)]);
  world.nowMs += 5000;
  expect((await fetch(first.url)).status).toBe(403);
  await world.restart();
  const { url } = await world.downloads.getDownloadUrl({ deviceId: device, ticket });
  expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(bytes)).toBe(true);
});

// protects against headsets/other-ticket
test('a ticket is rejected if another headset sends it, if it was changed, or if its artifact was withdrawn', async () => {
  await putApp('com.example.a', '1.0');
  const ticket = await ticketFor();
  const refused = { url: '', expiresAtMs: 0n, refusal: UrlRefusal.NOT_FOUND };
  const ask = async (deviceId: string, bytes: Uint8Array) => {
    const { url, expiresAtMs, refusal } = await world.downloads.getDownloadUrl({ deviceId, ticket: bytes });
    return { url, expiresAtMs, refusal };
  };
  expect(await ask(other, ticket)).toEqual(refused);
  for (const at of [0, 12, ticket.length - 1]) {
    const changed = Uint8Array.from(ticket);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(await ask(device, changed)).toEqual(refused);
  }
  expect(await ask(device, new Uint8Array())).toEqual(refused);
  await world.admin.withdrawArtifact({
    kind: ArtifactKind.SOFTWARE,
    package: 'com.example.a',
    version: '1.0',
  });
  expect(await ask(device, ticket)).toEqual(refused);
});

test('operators put, list and withdraw firmware; a withdrawn version can be uploaded again', async () => {
  const bytes = await putFirmware('1.0');
  const again = await world.admin.putFirmware({
    package: 'com.vendor.firmware',
    version: '1.0',
    sizeBytes: 1n,
  });
  expect([again.uploadUrl, again.artifact?.state]).toEqual(['', ArtifactState.DELIVERABLE]);
  expect(again.artifact?.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
  await expect(
    world.admin.putFirmware({ package: 'com.vendor.other', version: '1.0', sizeBytes: 1n }),
  ).rejects.toMatchObject({
    code: 'conflict',
    message: "The firmware version 1.0 is the package com.vendor.firmware's. Choose another version.",
  });
  const name = { kind: ArtifactKind.FIRMWARE, package: 'com.vendor.firmware', version: '1.0' };
  await world.admin.withdrawArtifact(name);
  expect((await world.admin.withdrawArtifact(name)).artifact?.state).toBe(ArtifactState.WITHDRAWN);
  expect((await world.updates.listFirmware({ caller: callerOf() })).firmwareVersions).toEqual([]);
  const reopened = await world.admin.putFirmware({ ...name, sizeBytes: 7n });
  expect(reopened.artifact).toMatchObject({ state: ArtifactState.UPLOADING, sha256: '' });
  await putFirmware('1.0', Buffer.from('another'));
  expect(readdirSync(join(world.directory, 'artifacts/artifacts'))).toHaveLength(1);
  expect((await world.updates.listFirmware({ caller: callerOf() })).firmwareVersions).toHaveLength(1);
  await expect(world.admin.withdrawArtifact({ ...name, version: '2.0' })).rejects.toMatchObject({
    code: 'not_found',
  });
  await expect(world.admin.putFirmware({ ...name, version: '3', sizeBytes: 0n })).rejects.toMatchObject({
    code: 'invalid_argument',
  });
});

test('the operators’ list is filtered by kind and package, and limited', async () => {
  await putFirmware('1.0');
  await putApp('com.example.a', '1.0');
  await putApp('com.example.a', '1.1');
  const list = async (query: object) =>
    (await world.admin.listArtifacts(query)).artifacts.map((a) => `${a.package} ${a.version}`);
  expect(await list({})).toEqual(['com.example.a 1.1', 'com.example.a 1.0', 'com.vendor.firmware 1.0']);
  expect(await list({ kind: ArtifactKind.FIRMWARE })).toEqual(['com.vendor.firmware 1.0']);
  expect(await list({ package: 'com.example.a', limit: 1 })).toEqual(['com.example.a 1.1']);
  expect(await list({ kind: ArtifactKind.FIRMWARE, package: 'com.example.a' })).toEqual([]);
  await expect(list({ limit: 1001 })).rejects.toMatchObject({ code: 'invalid_argument' });
});

test('the documents that a call examines do not grow with other developers’ catalogues', async () => {
  await putApp('com.example.a', '1.0');
  const artifacts = world.bed.store.collection<{ _id: string }>('artifacts');
  const own = await artifacts.findOne({ _id: 'software/com.example.a/1.0' });
  await artifacts.insertMany(
    Array.from({ length: 500 }, (_, n) => ({
      ...own,
      ...{ _id: `software/com.other.p${n}/1.0`, package: `com.other.p${n}`, developerId: `dev-${n}` },
    })),
  );
  const uploads = world.bed.store.collection<{ _id: string }>('uploads');
  const [open] = await uploads.find({}).toArray();
  await uploads.insertMany(
    Array.from({ length: 500 }, (_, n) => ({
      ...open,
      ...{
        _id: `u${n}`,
        artifactId: `software/com.other.p${n}/1.0`,
        developerId: `dev-${n}`,
        settled: false,
      },
      dueAtMs: world.nowMs + 30_000,
    })),
  );
  const examined = async (call: () => Promise<unknown>): Promise<number> => {
    const before = world.bed.documentsExamined();
    await call();
    return world.bed.documentsExamined() - before;
  };
  const caller = callerOf();
  const name = { caller, package: 'com.example.a', version: '2.0' };
  expect(await examined(() => listed())).toBeLessThan(20);
  expect(await examined(() => listed({ latest: true, package: 'com.example.a' }))).toBeLessThan(20);
  expect(await examined(() => world.updates.listFirmware({ caller }))).toBeLessThan(20);
  expect(await examined(() => world.updates.requestUpload({ ...name, sizeBytes: 1n }))).toBeLessThan(20);
  expect(
    await examined(() => world.updates.updateApp({ ...name, version: '1.0', deviceId: device })),
  ).toBeLessThan(20);
  expect(await examined(() => world.admin.listArtifacts({ package: 'com.example.a' }))).toBeLessThan(20);
});
