import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { describeOnStack, type ListedTransaction } from './harness.ts';
import { type OwnPlatform, openOwnPlatform } from './own-platform.ts';

/** About two seconds. */
const keepDays = 0.000_02;

describeOnStack('expired records', () => {
  let own: OwnPlatform;
  const stateDir = mkdtempSync(join(tmpdir(), 'retention-'));

  beforeAll(async () => {
    own = await openOwnPlatform({
      env: { TRANSACTIONS_KEEP_DAYS: String(keepDays), RETENTION_INTERVAL_MS: '100' },
    });
  }, 180_000);
  afterAll(async () => {
    await own?.close();
    rmSync(stateDir, { recursive: true, force: true });
  });

  const list = () => own.call(200, 'GET', '/transactions');
  const listed = async (): Promise<number[]> =>
    (await list()).body.transactions.map((t: ListedTransaction) => t.transactionId);
  const missing = async (id: number) => (await own.api.app('GET', `/transactions/${id}`)).status === 404;

  it('ended transactions are deleted, the list names the time from which it is complete, unprocessed ones stay', async () => {
    const { arrivals } = await own.receiver(() => 204);
    const beganMs = Date.now();
    const headset = own.headset({ stateDir });
    headset.connect();
    const done = await own.command();
    await waitFor('the callback of the end', () =>
      arrivals.some(({ body }) => body.transactionId === done && body.notificationType === 'processed'),
    );
    await headset.close();
    const waits = await own.command();
    await waitFor('its deletion', () => missing(done));
    expect(await listed()).toEqual([waits]);
    const from = Date.parse(String((await list()).headers['x-complete-from']));
    expect(from).toBeGreaterThan(beganMs);
    expect(from).toBeLessThan(Date.now());

    // The headset returns with its held transactions: the unprocessed one runs, the deleted one does not run again.
    const again = own.headset({ stateDir });
    again.connect();
    await waitFor('the other command', () =>
      arrivals.some(({ body }) => body.transactionId === waits && body.notificationType === 'processed'),
    );
    await waitFor('its deletion', () => missing(waits));
    for (const id of [done, waits]) {
      const kinds = arrivals
        .filter(({ body }) => body.transactionId === id)
        .map((a) => a.body.notificationType);
      expect(kinds.filter((kind) => kind === 'processed')).toHaveLength(1);
    }
    expect(await listed()).toEqual([]);
  }, 120_000);

  it('an Idempotency-Key prevents a second run also after its transaction was deleted', async () => {
    const { arrivals } = await own.receiver(() => 204);
    const headset = own.headset();
    headset.connect();
    const body = { package: 'com.example.app', launchType: 'activity' };
    const path = `/devices/${own.deviceId}/commands`;
    const send = () => own.api.app('PUT', path, body, { 'Idempotency-Key': 'deleted' });
    const first = (await send()).body.transactionId;
    await waitFor('the callback', () =>
      arrivals.some(
        ({ body: callback }) => callback.transactionId === first && callback.notificationType === 'processed',
      ),
    );
    await waitFor('its deletion', () => missing(first));
    expect((await send()).body).toEqual({ transactionId: first });
    // A later command runs; an earlier one would have run before it.
    const next = await own.command();
    await waitFor('the next one', () =>
      arrivals.some(
        ({ body: callback }) => callback.transactionId === next && callback.notificationType === 'processed',
      ),
    );
    expect(arrivals.filter(({ body: callback }) => callback.notificationType === 'accepted')).toHaveLength(2);
    expect(await missing(first)).toBe(true);
  }, 120_000);
});
