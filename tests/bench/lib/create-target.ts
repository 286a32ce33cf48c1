import type { CreateTarget, Load } from '../load/main.ts';
import type { Worker } from './worker.ts';
import type { Tenant } from './world.ts';

/** A tenant with activated devices, whose callbacks go to the load's process. `origin`: the API's. */
export async function prepareCreates(
  origin: string,
  tenant: Tenant,
  load: Worker<Load>,
  devices: number,
): Promise<CreateTarget> {
  const keys = await tenant.devices(devices);
  await load.call('addKey', await tenant.callbacksTo(await load.call('receiver', undefined as never)));
  await tenant.activate(keys);
  return {
    origin,
    token: await tenant.api.token(),
    applicationId: tenant.applicationId,
    deviceIds: keys.map(({ deviceId }) => deviceId),
  };
}
