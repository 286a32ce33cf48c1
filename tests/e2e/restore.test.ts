import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { provisionDevice } from '@headset-cloud/demo/provision.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { serviceNames } from '@headset-cloud/runtime/service-names.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { isLong } from '../support/long.ts';
import { describeOnStack, imei, stack as suiteStack } from './harness.ts';
import { type Drill, registerAgain, startDrill } from './restore/drill.ts';

// Databases and topics on servers given by an address must not be replaced.
const ours = !process.env['MONGODB_URI'] && !process.env['KAFKA_BROKERS'];
const logs =
  suiteStack.kind === 'embedded'
    ? (['restored'] as const)
    : isLong
      ? (['kept', 'lost'] as const)
      : (['lost'] as const);
/** Backed up before the other services, so that the backups differ in age. */
const earlier = ['transactions', 'device-link', 'billing'] as const;
const later = serviceNames.filter((name) => !(earlier as readonly string[]).includes(name));

const notSentAgain = 'The transaction was canceled because the retry limit was exceeded.';
const requested = 'The transaction was canceled by a cancel request.';

// ADR 0035; docs/operations/backup.md
for (const log of ours ? logs : []) {
  describeOnStack(`a platform that was restored from a backup, its event log ${log}`, () => {
    let drill: Drill;
    /** Devices of the first application, except `lent`, which the second application has when the platform is lost. */
    let lent: HeadsetKeyFile;
    let busy: HeadsetKeyFile;
    let quiet: HeadsetKeyFile;
    /** Registered after the backup. */
    let late: HeadsetKeyFile;
    const headsets = new Map<HeadsetKeyFile, Headset>();
    const headsetOf = (device: HeadsetKeyFile) => headsets.get(device) as Headset;
    const connect = async (device: HeadsetKeyFile) => headsets.set(device, await drill.connect(device));
    const leave = (device: HeadsetKeyFile) => headsetOf(device).close();
    /** Pending for the first application's headsets at the time of the backup. */
    const waiting = { done: 0, canceled: 0 };
    /** Offered after the backup, and held by its headset. */
    let unheardOf: number;
    let lostIds: ReadonlySet<number>;
    const before = new Map<HeadsetKeyFile, { session: number; epoch: number }>();

    beforeAll(async () => {
      drill = await startDrill();
      [lent, busy, quiet] = drill.devices as [HeadsetKeyFile, HeadsetKeyFile, HeadsetKeyFile];
      const { first, second, backups } = drill;
      for (const device of [lent, busy, quiet]) {
        await connect(device);
        await first.ended(await first.activate(device));
      }
      await first.ended(await first.command(busy));
      await leave(busy);
      await leave(quiet);
      waiting.done = await first.command(busy);
      waiting.canceled = await first.command(quiet);
      for (const id of Object.values(waiting))
        await waitFor('the operation to wait', async () => (await first.state(id)) === 'published');
      await backups.save(earlier);
      await first.ended(await first.make('PUT', `/devices/${lent.deviceId}/reset`));
      await first.ended(await first.command(lent));
      await backups.save(later);

      // Changes after the backup.
      await first.call('DELETE', `/devices/${quiet.deviceId}/transactions`);
      expect(await first.ended(waiting.canceled)).toMatchObject({ message: requested });
      await connect(busy);
      expect(await first.ended(waiting.done)).toMatchObject({ result: 'success' });
      for (let i = 0; i < 3; i++) await first.ended(await first.command(busy));
      await first.ended(await first.make('DELETE', `/devices/${lent.deviceId}`));
      await second.ended(await second.activate(lent));
      for (let i = 0; i < 3; i++) await second.ended(await second.command(lent));
      for (let i = 0; i < 2; i++) {
        const session = headsetOf(lent).sessionEpoch;
        headsetOf(lent).disconnect();
        await waitFor('the next session', () => headsetOf(lent).sessionEpoch > session);
      }
      late = await provisionDevice(drill.admin, imei());
      await registerAgain(drill, late);
      await connect(late);
      await first.ended(await first.activate(late));
      await first.ended(await first.command(late));
      headsetOf(busy).behaviour.answersOffers = false;
      unheardOf = await first.command(busy);
      await waitFor('the offer', () => headsetOf(busy).journal.held.has(unheardOf));
      for (const [device, { journal }] of headsets)
        before.set(device, { session: drill.sessionsOf(device), epoch: journal.activationEpoch });
      lostIds = new Set(drill.given);
      expect(lostIds.size).toBe(drill.given.length);
    }, 180_000);
    afterAll(() => drill?.close());

    it('the command raise is rejected while the platform runs', async () => {
      const command = drill.backups.raise();
      command.start();
      expect(await command.exited).toBe('1');
      expect(command.log()).toMatch(/stop all services first|in use by another process/);
    }, 60_000);

    it('is restored and raised while no process runs, and starts', async () => {
      const { backups } = drill;
      await backups.stopAll();
      // Headsets keep the reports that they make meanwhile.
      const custom = (customData: string) =>
        ({ case: 'customData', value: { success: true, customData } }) as const;
      headsetOf(lent).report(custom('of the second'));
      headsetOf(busy).report(custom('of the first'));
      headsetOf(busy).behaviour.answersOffers = true;
      await backups.restore();
      if (log === 'lost') await backups.loseLog();
      for (const args of [['--dry-run'], log === 'lost' ? ['--log-lost'] : []]) {
        const command = backups.raise(...args);
        command.start();
        expect(await command.exited).toBe('0');
      }
      expect(backups.raise().log()).toContain('nothing was changed');
      await backups.startAll();
      for (const device of [lent, busy])
        await waitFor('the headset to be back', () => headsetOf(device).sessionEpoch > 0);
    }, 120_000);

    it('uses no transaction id twice, and new commands take effect once, with their callbacks', async () => {
      const { first } = drill;
      for (const device of [busy, lent]) {
        for (let i = 0; i < 3; i++) {
          const count = headsetOf(device).effects.count;
          const id = await first.command(device);
          expect(lostIds).not.toContain(id);
          expect(await first.ended(id)).toMatchObject({ result: 'success', deviceId: device.deviceId });
          expect(headsetOf(device).effects.has(id)).toBe(true);
          expect(headsetOf(device).effects.count).toBe(count + 1);
          const callbacks = first.server.received.filter(({ body }) => body.transactionId === id);
          expect(callbacks.map(({ body }) => body.notificationType)).toEqual(['accepted', 'processed']);
        }
      }
    }, 120_000);

    it('never lowers an epoch that a headset knows', async () => {
      for (const device of [lent, busy]) {
        const { session = 0, epoch = 0 } = before.get(device) ?? {};
        expect(headsetOf(device).sessionEpoch).toBeGreaterThan(session);
        expect(headsetOf(device).journal.activationEpoch).toBeGreaterThan(epoch);
      }
    });

    it('the application of the backup has its device again, and gets nothing of the other application’s activation', async () => {
      const { first, second } = drill;
      expect(
        await second.status('PUT', `/devices/${lent.deviceId}/commands`, { launchType: 'activity' }),
      ).toBe(403);
      expect(headsetOf(lent).journal.activation.applicationId).toBe(first.applicationId);
      headsetOf(lent).report({ case: 'customData', value: { success: true, customData: 'afterwards' } });
      await waitFor('the later report', () => first.customData().includes('afterwards'));
      await waitFor('the kept report', () => first.customData().includes('of the first'));
      expect(first.customData()).not.toContain('of the second');
    }, 60_000);

    it('reconciles transactions that were pending at the backup: completed ones are reported as completed, canceled ones stay canceled', async () => {
      const { first } = drill;
      const messagesOf = (id: number) =>
        first.server.arrivals.filter(({ body }) => body.transactionId === id).map(({ body }) => body.message);
      await waitFor('the end', async () => (await first.state(waiting.done)) === 'processed');
      expect(messagesOf(waiting.done)).not.toContain(notSentAgain);
      await connect(quiet);
      await waitFor('the end', async () => (await first.state(waiting.canceled)) === 'canceled');
      expect(headsetOf(quiet).effects.has(waiting.canceled)).toBe(false);
      await waitFor('the callback', () => messagesOf(waiting.canceled).includes(notSentAgain));
    }, 60_000);

    it('drops transactions that a headset holds and the platform does not know', async () => {
      const { journal, effects } = headsetOf(busy);
      await waitFor('the drop', () => !journal.held.has(unheardOf));
      expect(effects.has(unheardOf)).toBe(false);
      expect(await drill.first.status('GET', `/transactions/${unheardOf}`)).toBe(404);
    });

    it('accepts a headset that was registered after the backup, once it is registered again', async () => {
      const { first } = drill;
      await registerAgain(drill, late);
      const headset = headsetOf(late);
      await waitFor('the session', () => headset.sessionEpoch > 0);
      expect(headset.sessionEpoch).toBeGreaterThan(before.get(late)?.session ?? 0);
      expect(await first.ended(await first.activate(late))).toMatchObject({ result: 'success' });
      expect(headset.journal.activationEpoch).toBeGreaterThan(before.get(late)?.epoch ?? 0);
      const id = await first.command(late);
      expect(lostIds).not.toContain(id);
      expect(await first.ended(id)).toMatchObject({ result: 'success' });
      expect(headset.effects.has(id)).toBe(true);
    }, 60_000);
  });
}
if (!ours) it.skip('restoring needs servers that the test has started itself', () => {});
