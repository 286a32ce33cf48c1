import { createPublicKey } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { readIdentities } from '@headset-cloud/demo/headset/identity.ts';
import { GoAwayReason } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { faults } from '../conformance/faults/all.ts';
import { ctl, ctlJson } from './ctl.ts';
import { createTenant, describeOnStack, type Tenant } from './harness.ts';

describeOnStack('the keys of headsets', () => {
  let tenant: Tenant;
  let folder: string;
  beforeAll(async () => {
    tenant = await createTenant({ devices: 3 });
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-keys-'));
  });
  afterAll(async () => {
    await tenant?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const deviceOf = (n: number) => tenant.devices[n] as HeadsetKeyFile;
  const online = (headset: Headset) => waitFor('a session', () => headset.sessionEpoch > 0);

  /** A headset that retries at once and ignores Retry-After. */
  const impatient = (device: HeadsetKeyFile) => tenant.headset(device, {}, [faults['ignores-retry-after']]);

  /** Records the reasons with which the cloud ends the headset's sessions, and the status of its rejected streams. */
  function watched(headset: Headset) {
    const reasons: GoAwayReason[] = [];
    const refusals: status[] = [];
    headset.on('received', ({ body }) => {
      if (body.case === 'goAway') reasons.push(body.value.reason);
    });
    headset.on('offline', (code) => void refusals.push(code));
    return {
      turnedOut: () =>
        waitFor('the session to end and the key to be refused', () =>
          Boolean(reasons.includes(GoAwayReason.KEY_REMOVED) && refusals.includes(status.UNAUTHENTICATED)),
        ),
      reasons,
    };
  }

  // protects against headsets/removed-key
  it('can be replaced without a gap: the second key is registered, the first revoked, and its session ends', async () => {
    const { deviceId, keyId: oldKey } = deviceOf(0);
    const file = join(folder, 'new.key.json');
    const generated = await ctl('headset-keys', 'generate', deviceId, '--name', 'since May', '--out', file);
    expect([generated.exitCode, generated.err]).toEqual([0, '']);
    const [fresh] = readIdentities(file) as [HeadsetKeyFile];
    const third = await ctl('headset-keys', 'generate', deviceId, '--out', join(folder, 'third.key.json'));
    expect([third.exitCode, third.err]).toEqual([1, expect.stringContaining('has 2 keys')]);

    const before = impatient(deviceOf(0));
    const old = watched(before);
    const neighbour = tenant.headset(deviceOf(1));
    const other = watched(neighbour);
    before.connect();
    neighbour.connect();
    await Promise.all([online(before), online(neighbour)]);
    const revoked = await ctl('headset-keys', 'revoke', deviceId, oldKey);
    expect([revoked.exitCode, revoked.out]).toEqual([0, `revoked  ${oldKey}\n`]);
    await old.turnedOut();

    const after = tenant.headset(fresh);
    after.connect();
    await tenant.ended(await tenant.activate(fresh));
    await waitFor('the use of the new key to be noted', async () => {
      const { keys } = await ctlJson('headset-keys', 'list', deviceId);
      expect(keys).toMatchObject([{ keyId: fresh.keyId, name: 'since May' }]);
      return Number(keys[0].lastUsedAtMs) > 0;
    });
    expect(other.reasons).toEqual([]);
  });

  // protects against headsets/shared-key
  it('the key of another device is rejected; its owner can continue to authenticate as that device only', async () => {
    const [thief, owner] = [deviceOf(2), deviceOf(1)];
    const file = join(folder, 'of-another.pub.pem');
    writeFileSync(
      file,
      createPublicKey(owner.privateKeyPem).export({ type: 'spki', format: 'pem' }).toString(),
    );
    const added = await ctl('headset-keys', 'add', thief.deviceId, file);
    expect(added).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining(`${owner.deviceId} has this key`),
    });
    const two = tenant.headset({ ...owner, deviceId: thief.deviceId });
    const refused = new Promise((resolve) => two.once('offline', resolve));
    two.connect();
    expect(await refused).toBe(status.UNAUTHENTICATED);
  });

  it('of all devices of an application are revoked by one command', async () => {
    const device = deviceOf(2);
    const headset = impatient(device);
    const all = watched(headset);
    headset.connect();
    await tenant.ended(await tenant.activate(device));
    const dry = await ctlJson(
      'headset-keys',
      'revoke-all',
      '--application',
      tenant.applicationId,
      '--dry-run',
    );
    expect(dry.devices).toContainEqual({ deviceId: device.deviceId, keyIds: [device.keyId] });
    const developer = `developer-${tenant.clientId}`;
    const { devices } = await ctlJson('headset-keys', 'list', '--developer', developer);
    expect(devices).toContainEqual(
      expect.objectContaining({
        deviceId: device.deviceId,
        keys: [expect.objectContaining({ keyId: device.keyId })],
      }),
    );
    expect(headset.sessionEpoch).toBeGreaterThan(0);
    const done = await ctl('headset-keys', 'revoke-all', '--application', tenant.applicationId);
    expect(done.exitCode).toBe(0);
    await all.turnedOut();
    expect((await ctlJson('headset-keys', 'list', device.deviceId)).keys).toEqual([]);
  });
});
