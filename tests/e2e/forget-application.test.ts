import { provisionApplication, provisionDevice } from '@headset-cloud/demo/provision.ts';
import { SoraSimulator } from '@headset-cloud/demo/sora/simulator.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { counted, countIn, ctlOf, documented, inDocuments, killedAt } from './forgetting.ts';
import { ago, describeOnStack, imei } from './harness.ts';
import { type OwnPlatform, openOwnPlatform } from './own-platform.ts';

/** Records that operators remove for an application (ADR 0047). */

/** Personal values that the test's application has set, sent or received. */
const personal = ['words-of-a-person', 'asked of a person', 'the-person-who-integrates'];
const secret = 'a-secret-of-the-webhooks-of-sora';

describeOnStack('an application that is forgotten', () => {
  let own: OwnPlatform;
  let sora: SoraSimulator;
  beforeAll(async () => {
    own = await openOwnPlatform({ env: { DEVICE_LINK_OFFLINE_AFTER_MS: '1000' } });
    sora = new SoraSimulator({
      ...{ endpointId: 'forget', secret },
      webhookUrl: own.stack.soraWebhookUrl,
    });
    await sora.start();
  }, 180_000);
  afterAll(async () => {
    await sora?.close();
    await own?.close();
  });

  const ctl = (...args: string[]) => ctlOf(own, ...args);

  it('leaves only the documented records, also after a kill of the platform; another application of the developer is untouched', async () => {
    const { admin, deviceId } = own;
    const applicationId = (await admin.devices.getDevice({ deviceId })).device?.applicationId ?? '';
    const forget = (...more: string[]) =>
      ctl('--json', 'applications', 'forget', applicationId, '--reference', 'REQUEST-18', ...more);

    // The integrator's server accepts every callback except one.
    const { arrivals, url } = await own.receiver(({ body }) =>
      body.customData === 'refused words-of-a-person' ? 500 : 204,
    );
    const settings = { soraEvent: url, soraFileSendEvent: `${url}&who=the-person-who-integrates` };
    await own.call(200, 'PATCH', '', settings);
    await admin.communication.putEndpoint({
      endpoint: {
        ...{ endpointId: 'forget', signalingUrl: 'wss://sora.example.com/signaling', soraVersion: '1.0.7' },
        ...{ connectionLimit: 10, archiveUrl: sora.archiveUrl, webhookSecret: secret },
      },
    });

    // Two devices with transactions, a meeting with a recording, and an upload.
    const identity = await provisionDevice(admin, imei());
    await admin.devices.putContract({
      ...{ applicationId, activationLimit: 2, addDeviceIds: [identity.deviceId] },
      limits: { callsPerSecond: 500 },
    });
    await admin.billing.putPlans({ applicationId, deviceId, plans: { videoMeeting: 'basic 100' } });
    await own.call(201, 'POST', `/devices/${identity.deviceId}`, { clientId: 'own-2' });
    const headsets = [own.headset(), own.headset({ identity })];
    for (const headset of headsets) headset.connect();
    const command = {
      package: 'com.example.app',
      launchType: 'activity',
      action: 'asked of a person',
    };
    const commands: number[] = [];
    for (const id of [deviceId, identity.deviceId]) {
      for (let n = 0; n < 15; n += 1) {
        commands.push((await own.call(201, 'PUT', `/devices/${id}/commands`, command)).body.transactionId);
      }
    }
    for (const customData of ['words-of-a-person', 'refused words-of-a-person']) {
      headsets[0]?.report({ case: 'customData', value: { customData } });
    }
    headsets[0]?.report({
      case: 'speechUsage',
      value: { startedAtMs: BigInt(ago(60_000)), durationMs: 500n },
    });
    await own.call(201, 'POST', '/apps', { package: 'com.example.app', version: '1', fileSize: 1 });
    const { channelId } = (await own.call(201, 'POST', '/channels', {})).body;
    const connection = sora.join(channelId, { deviceId, words: 'words-of-a-person' });
    await sora.created(connection).send();
    for (const webhook of sora.record([connection]).webhooks) await webhook.send();
    await sora.destroyed(connection).send();

    // Another application of the same developer and client.
    const third = await provisionDevice(admin, imei());
    const anotherId = await provisionApplication(admin, {
      ...{ developerId: 'own', clientIds: ['own'], name: 'another', activationLimit: 1 },
      deviceIds: [third.deviceId],
    });
    const another = (method: string, path: string, body?: unknown) =>
      own.api.call(method, `/v1/applications/${anotherId}${path}`, body);
    await another('PATCH', '', { deviceEvent: url });
    await another('POST', '/refresh_authkey');
    const { transactionId } = (await another('POST', `/devices/${third.deviceId}`, { clientId: 'other' }))
      .body;
    await another('POST', '/channels', {});
    const beside = own.headset({ identity: third });
    beside.connect();

    await waitFor(
      'all callbacks',
      () => {
        const ended = [...commands, transactionId].every((id) =>
          arrivals.some((a) => a.body.transactionId === id && a.body.notificationType === 'processed'),
        );
        const ofSora = arrivals.filter((a) => a.body.channelId === channelId).length >= 3;
        return ended && ofSora && arrivals.some((a) => a.body.customData === 'refused words-of-a-person');
      },
      { timeoutMs: 60_000 },
    );
    for (const value of personal) expect([value, await inDocuments(own, value)]).not.toEqual([value, []]);

    // An application with devices, or with unfinished work, is rejected, and nothing is removed.
    const refused = await forget();
    expect([refused.exitCode, refused.err]).toEqual([1, expect.stringContaining('has 2 devices activated')]);
    for (const headset of headsets) await headset.close();
    for (const id of [deviceId, identity.deviceId]) await own.call(201, 'DELETE', `/devices/${id}`);
    const open = await waitFor('the deactivations', async () => {
      const run = await forget();
      return run.err.includes('not processed') && run;
    });
    expect([open.exitCode, open.out]).toEqual([1, '']);
    const before = await countIn(own, 'the-person-who-integrates');
    const dry = counted((await forget('--dry-run', '--end-open')).out);
    expect(dry['transactions']['transactions'][0]).toBeGreaterThanOrEqual(30);
    expect(dry['communication']['channels']).toEqual([1, 0]);
    expect(dry['devices']['IMEIs of its contract']).toEqual([2, 0]);
    expect(await countIn(own, 'the-person-who-integrates')).toEqual(before);
    await beside.close();
    const presence = 'connectivity_offline';
    await waitFor('the third device to be offline', () =>
      arrivals.some((a) => a.body.deviceId === third.deviceId && JSON.stringify(a.body).includes(presence)),
    );
    // Deliveries that were sent at once are stored a little later (ADR 0050).
    await waitFor('the records of its callbacks', async () => {
      const arrived = arrivals.filter((a) => a.headers['applicationid'] === anotherId);
      const ids = new Set(arrived.map((a) => a.headers['webhook-id']));
      const { deliveries } = await admin.notifier.listDeliveries({ applicationId: anotherId, limit: 100 });
      return ids.size > 0 && deliveries.filter(({ status }) => status === 'delivered').length >= ids.size;
    });
    const ofAnother = await countIn(own, anotherId);

    // Killed after the removal in devices, and once more after some of the transactions.
    for (const [service, at] of [
      ['devices', 'after store devices.applications.forgottenAtMs'],
      ['transactions', 'after store transactions.transactions.deleteMany'],
    ] as const) {
      const cut = await killedAt(own, service, at, () => forget('--end-open'));
      expect(cut.exitCode).toBe(3);
    }
    const done = await waitFor(
      'everything to be removed',
      async () => {
        const run = await forget('--end-open');
        return run.exitCode === 0 && run;
      },
      { timeoutMs: 120_000 },
    );
    // A long removal prints its progress on standard error.
    expect(done.err.split('\n').filter((line) => !/^[\w-]+: \d+ removed so far …$/.test(line))).toEqual(['']);
    const again = counted((await forget()).out);
    const removed = Object.values(again).flatMap((of) => Object.values(of as object).map(([count]) => count));
    expect(removed.every((count) => count === 0)).toBe(true);
    await waitFor('the audit records', async () => {
      const listed = await ctl(
        ...['--json', 'audit', 'list', '--application', applicationId, '--action', 'ForgetApplication'],
      );
      const records = JSON.parse(listed.out).records as { action: string; target: string }[];
      return ['devices', 'transactions', 'notifier', 'communication'].every((service) =>
        records.some((one) => one.action === `${service}.ForgetApplication` && one.target === 'REQUEST-18'),
      );
    });

    // The API for its clients, Sora and operators afterwards.
    await waitFor(
      'the gateways to know it',
      async () => (await own.api.app('GET', `/transactions/${commands[0]}`)).status === 403,
    );
    expect((await own.api.app('PATCH', '', settings)).status).toBe(403);
    expect((await another('GET', `/transactions/${transactionId}`)).status).toBe(200);
    await sora.created(sora.join(channelId, { deviceId, words: 'words-of-a-person' })).send();
    const created = await ctl('applications', 'create', applicationId, '--developer', 'own');
    expect([created.exitCode, created.err]).toEqual([1, expect.stringContaining('is forgotten')]);

    for (const value of personal) expect([value, await inDocuments(own, value)]).toEqual([value, []]);
    const kept = documented('Remaining references to the application id');
    expect(kept.length).toBeGreaterThan(8);
    // Frozen bills are packed; the test has none.
    expect([...(await inDocuments(own, applicationId)), 'billing.bills'].sort()).toEqual([...kept].sort());
    expect(await countIn(own, anotherId)).toEqual(ofAnother);
  }, 300_000);
});
