import type { Behaviour } from '@headset-cloud/demo/headset/behaviour.ts';
import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { faults } from '../conformance/faults/all.ts';
import { type Fault, reports } from '../conformance/faults/fault.ts';
import { createTenant, describeOnStack, type Tenant } from './harness.ts';

const operationId = 'put-v1-applications-devices-reset';

describeOnStack('the end of a reset', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant({ devices: 3 });
  });
  afterAll(() => tenant.close());

  /** An activated headset that is online. */
  const online = async (index: number, behaviour: Partial<Behaviour>, ...more: Fault[]): Promise<Headset> => {
    const device = tenant.devices[index];
    const headset = tenant.headset(device, { behaviour }, more);
    headset.connect();
    await tenant.ended(await tenant.activate(device));
    return headset;
  };
  const reset = async (headset: Headset): Promise<number> =>
    (await tenant.call(201, 'PUT', `/devices/${headset.deviceId}/reset`)).body.transactionId;
  const bodies = (headset: Headset, id: number, result: string, message: string) => {
    const common = {
      applicationId: tenant.applicationId,
      deviceId: headset.deviceId,
      timestamp: expect.any(Number),
      transactionId: id,
      operationId,
    };
    return [
      {
        ...common,
        notificationType: 'accepted',
        result: 'success',
        message: 'The device has started the operation.',
      },
      { ...common, notificationType: 'processed', result, message },
    ];
  };

  // proves api/7/reset
  it('is sent after the hello that follows the wipe, if the headset no longer reports the transaction', async () => {
    const losesResult = reports('result', ({ message }) => message !== 'reset');
    const headset = await online(0, { resetMs: 200 }, losesResult, faults['hides-held']);
    const before = headset.sessionEpoch;
    const id = await reset(headset);
    await tenant.ended(id);
    expect(headset.sessionEpoch).toBeGreaterThan(before);
    expect(tenant.callbacks(id).map((c) => c.body)).toEqual(bodies(headset, id, 'success', 'reset success.'));
    expect(await tenant.status(id)).toBe('processed');
    // Still activated, and able to execute more commands.
    const command = await tenant.command(tenant.devices[0]);
    expect(await tenant.ended(command)).toMatchObject({ result: 'success' });
    headset.disconnect();
    await tenant.ended(await tenant.command(tenant.devices[0]));
    expect(tenant.callbacks(id)).toHaveLength(2);
    expect(headset.effects.has(id)).toBe(true);
  });

  it('is sent with the result, if the headset keeps it', async () => {
    const headset = await online(1, { resetMs: 200 });
    const id = await reset(headset);
    await tenant.ended(id);
    expect(tenant.callbacks(id).map((c) => c.body)).toEqual(bodies(headset, id, 'success', 'reset'));
  });

  it('is a failure if the headset reports a failure, independent of the next hello', async () => {
    const headset = await online(2, { succeeds: false });
    const id = await reset(headset);
    await tenant.ended(id);
    headset.disconnect();
    await tenant.ended(await tenant.command(tenant.devices[2]));
    expect(tenant.callbacks(id).map((c) => c.body)).toEqual(bodies(headset, id, 'failure', 'failed'));
    expect(await tenant.status(id)).toBe('processed');
  });
});
