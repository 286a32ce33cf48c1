import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SoraSimulator } from '@headset-cloud/demo/sora/simulator.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { counted, ctlOf, documented, inDocuments, killedAt } from './forgetting.ts';
import { ago, describeOnStack } from './harness.ts';
import { type OwnPlatform, openOwnPlatform } from './own-platform.ts';

/** Records that operators remove for a device (ADR 0047). */

/** Personal values that the test's device has reported or received. */
const personal = ['35.681236', 'words of a person', 'asked of a person', 'where they live'];
const [latitude, longitude] = [35.681_236, 139.767_125];

describeOnStack('a device that is forgotten', () => {
  let own: OwnPlatform;
  let sora: SoraSimulator;
  const stateDir = mkdtempSync(join(tmpdir(), 'forget-'));

  beforeAll(async () => {
    own = await openOwnPlatform({ env: { DEVICE_LINK_OFFLINE_AFTER_MS: '1000' } });
    sora = new SoraSimulator({
      ...{ endpointId: 'forget', secret: 'a-secret-of-the-webhooks-of-sora' },
      webhookUrl: own.stack.soraWebhookUrl,
    });
    await sora.start();
  }, 180_000);
  afterAll(async () => {
    await sora?.close();
    await own?.close();
  });

  const ctl = (...args: string[]) => ctlOf(own, ...args);
  const forget = (...more: string[]) =>
    ctl('--json', 'devices', 'forget', own.deviceId, '--reference', 'REQUEST-17', ...more);

  it('leaves only the documented records, also after a kill of the platform, and the device returns only with a new key', async () => {
    const { arrivals, url } = await own.receiver(() => 204);
    const settings = { soraEvent: url, soraFileSendEvent: url };
    await own.call(200, 'PATCH', '', settings);
    const { deviceId, admin } = own;
    await admin.devices.putDevice({ deviceId, specificDestination: 'where they live' });
    const { applicationId } = (await admin.devices.getDevice({ deviceId })).device ?? { applicationId: '' };
    await admin.billing.putPlans({ applicationId, deviceId, plans: { videoMeeting: 'basic 100' } });
    await admin.communication.putEndpoint({
      endpoint: {
        ...{ endpointId: 'forget', signalingUrl: 'wss://sora.example.com/signaling', soraVersion: '1.0.7' },
        ...{ connectionLimit: 10, archiveUrl: sora.archiveUrl },
        webhookSecret: 'a-secret-of-the-webhooks-of-sora',
      },
    });

    const headset = own.headset({ stateDir });
    headset.connect();
    const commands: number[] = [];
    for (let n = 0; n < 25; n += 1) {
      commands.push(
        await own.command({
          ...{ package: 'com.example.app', launchType: 'activity' },
          action: 'asked of a person',
        }),
      );
    }
    headset.report({
      case: 'stateChange',
      value: { batteryPercentage: 61, location: { latitude, longitude } },
    });
    headset.report({ case: 'customData', value: { customData: 'words of a person' } });
    headset.report({
      case: 'speechUsage',
      value: { startedAtMs: BigInt(ago(60_000)), durationMs: 500n },
    });
    const { channelId } = (await own.call(201, 'POST', '/channels', {})).body;
    const connection = sora.join(channelId, { deviceId, words: 'words of a person' });
    await sora.created(connection).send();
    for (const webhook of sora.record([connection]).webhooks) await webhook.send();
    await sora.destroyed(connection).send();
    await waitFor(
      'all callbacks',
      () => {
        const ended = commands.every((id) =>
          arrivals.some((a) => a.body.transactionId === id && a.body.notificationType === 'processed'),
        );
        const ofSora = arrivals.filter((a) => a.body.channelId === channelId).length >= 3;
        return ended && ofSora && arrivals.some((a) => a.body.customData === 'words of a person');
      },
      { timeoutMs: 60_000 },
    );
    for (const value of personal) expect([value, await inDocuments(own, value)]).not.toEqual([value, []]);

    // An activated device, or a device with unfinished work, is rejected, and nothing is removed.
    const refused = await forget();
    expect([refused.exitCode, refused.err]).toEqual([
      1,
      expect.stringContaining('has to deactivate it first'),
    ]);
    await headset.close();
    const left = (await own.call(201, 'DELETE', `/devices/${deviceId}`)).body.transactionId;
    const open = await waitFor('the deactivation', async () => {
      const run = await forget();
      return run.err.includes('not processed') && run;
    });
    expect([open.exitCode, open.out]).toEqual([1, '']);
    expect(await inDocuments(own, 'where they live')).toEqual(['devices.devices']);
    const dry = counted((await forget('--dry-run', '--end-open')).out);
    expect(dry['transactions']['transactions'][0]).toBeGreaterThanOrEqual(25);
    expect(dry['communication']['connections']).toEqual([1, 0]);
    expect(await inDocuments(own, 'where they live')).toEqual(['devices.devices']);

    // Killed after the removal in devices, and once more among the transactions.
    for (const [service, at] of [
      ['devices', 'after store devices.devices.forgottenAtMs'],
      ['transactions', 'after store transactions.transactions.deleteMany'],
    ] as const) {
      const cut = await killedAt(own, service, at, () => forget('--end-open'));
      expect(cut.exitCode).toBe(3);
    }
    const done = await waitFor(
      'everything to be delivered',
      async () => {
        const run = await forget('--end-open');
        return run.exitCode === 0 && run;
      },
      { timeoutMs: 60_000 },
    );
    expect(done.err).toBe('');
    const canceled = arrivals.filter((a) => a.body.transactionId === left);
    expect(canceled.map((a) => a.body.message)).toEqual([
      'The transaction was canceled by a cancel request.',
    ]);
    const again = counted((await forget()).out);
    const removed = Object.values(again).flatMap((of) => Object.values(of as object).map(([count]) => count));
    expect(removed.every((count) => count === 0)).toBe(true);
    await waitFor('the audit records', async () => {
      const listed = await ctl('--json', 'audit', 'list', '--device', deviceId, '--action', 'ForgetDevice');
      const records = JSON.parse(listed.out).records as { action: string; target: string }[];
      return ['devices', 'transactions', 'notifier', 'communication'].every((service) =>
        records.some((one) => one.action === `${service}.ForgetDevice` && one.target === 'REQUEST-17'),
      );
    });

    // The API for the integrator, and for the headset with its old key, afterwards.
    expect((await own.api.app('GET', `/transactions/${commands[0]}`)).status).toBe(404);
    const late = own.headset({ stateDir });
    late.connect();
    late.report({ case: 'customData', value: { customData: 'words of a person' } });

    const kept = documented('Remaining references to the IMEI');
    expect(kept.length).toBeGreaterThan(8);
    // The end of a session is published a moment later.
    for (const value of personal) expect([value, await inDocuments(own, value)]).toEqual([value, []]);
    const naming = await inDocuments(own, deviceId);
    // Frozen bills are packed; the test has none.
    expect([...naming, 'billing.bills'].sort()).toEqual([...kept].sort());
    await late.close();
  }, 240_000);
});
