import { randomBytes } from 'node:crypto';
import { UsageKind } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ctl, ctlJson } from './ctl.ts';
import { admin, ago, createTenant, describeOnStack, type Tenant } from './harness.ts';

/** A repeated usage report with other content: the only poison event that a public listener can cause. */
describeOnStack('dead letters', () => {
  let tenant: Tenant;
  beforeEach(async () => {
    tenant = await createTenant();
  });
  afterEach(() => tenant.close());

  async function poison(): Promise<{ id: string; deviceId: string }> {
    const { deviceId } = tenant.devices[0] as HeadsetKeyFile;
    await tenant.activate();
    const headset = tenant.headset();
    headset.connect();
    await waitFor('the activation', () => headset.journal.activationEpoch > 0);
    const newest = headset.report({ case: 'customData', value: { customData: 'before' } });
    const startedAtMs = BigInt(ago(60_000));
    const { applicationId } = tenant;
    // The ids of the headset's next reports, with a duration that differs from the headset's later report.
    const known = Array.from({ length: 40 }, (_, n) => ({
      ...{ usageId: `speech-${deviceId}-${newest + n + 1}`, applicationId, deviceId, startedAtMs },
      ...{ kind: UsageKind.SPEECH_RECOGNITION, durationMs: 77n },
    }));
    await Promise.all(known.map((usage) => admin().billing.addUsage({ usage })));
    headset.report({
      case: 'speechUsage',
      value: { startedAtMs, durationMs: 500n },
    });
    const id = await waitFor('the dead letter', async () => {
      const { deadLetters } = await ctlJson('dead-letters', 'list', '--service', 'billing');
      return deadLetters.find((one: { key: string }) => one.key === deviceId)?.id as string | undefined;
    });
    await headset.close();
    return { id, deviceId };
  }

  it('are shown decoded, fail again with their reason, and are discarded once', async () => {
    const { id, deviceId } = await poison();
    const unique = randomBytes(4).toString('hex');
    const shown = await ctl('dead-letters', 'show', id);
    expect(shown).toMatchObject({ exitCode: 0, err: '' });
    expect(shown.out).toContain(`"deviceId": "${deviceId}"`);
    expect(shown.out).toContain('"durationMs": "500"');
    expect(shown.out).toContain('the usage is known with other content');

    expect((await ctl('dead-letters', 'replay', id)).exitCode).toBe(2);
    const as = ['--operator', unique, 'dead-letters'];
    const again = await ctl(...as, 'replay', id, '--reason', `trying ${unique}`);
    expect([again.exitCode, again.err]).toEqual([
      1,
      expect.stringContaining('could not be handled again: PoisonEventError: the usage is known'),
    ]);

    const discarded = await ctl(...as, 'discard', id, '--reason', `known ${unique}`);
    expect(discarded).toMatchObject({ exitCode: 0, err: '' });
    expect(discarded.out).toMatch(new RegExp(`state +discarded\\n[\\s\\S]*reason +known ${unique}`));
    const late = await ctl(...as, 'replay', id, '--reason', 'late');
    expect([late.exitCode, late.err]).toEqual([
      1,
      expect.stringContaining(`It was discarded before (known ${unique}).`),
    ]);

    const open = await ctlJson('dead-letters', 'list');
    expect(open.deadLetters.map((one: { id: string }) => one.id)).not.toContain(id);
    const all = await ctlJson('dead-letters', 'list', '--all');
    expect(all.deadLetters).toContainEqual(
      expect.objectContaining({ id, state: 'discarded', reason: `known ${unique}` }),
    );
    const { steps } = await ctlJson('dead-letters', 'show', id);
    expect(steps.map((step: { what: string }) => step.what.split(':')[0])).toEqual([
      'set aside',
      'failed again',
      'discarded',
    ]);

    // The failed replay and the discard are recorded; rejected calls are not.
    const records = await waitFor('the records', async () => {
      const { records: found } = await ctlJson('audit', 'list', '--actor', unique);
      return found.length >= 2 && found;
    });
    expect(records).toMatchObject(
      ['DiscardDeadLetter', 'ReplayDeadLetter'].map((call) => ({
        ...{ action: `eventlog.${call}`, target: id, fields: ['state', 'reason'] },
        actor: { operator: unique, address: expect.stringMatching(/127\.0\.0\.1|::1/) },
      })),
    );
    expect(records).toHaveLength(2);
  });

  it('that do not exist are reported as missing', async () => {
    expect(await ctl('dead-letters', 'show', 'usage/0:99999999/billing-usage')).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('There is no dead letter'),
    });
  });
});
