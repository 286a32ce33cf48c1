import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { ConfigError } from '@headset-cloud/runtime/config.ts';
import { advertiseExample } from '../config.ts';
import type { Leases } from '../ports.ts';

/**
 * Takes this instance's first lease (rule B5), and removes the leases of dead instances. An earlier instance with the
 * same advertised address is dead. An instance without an address waits for the duration of a lease, and throws
 * ConfigError if another instance without an address is alive. `exclusive`: no other process can open the store, so
 * that all other instances are dead.
 */
export async function takeFirstLease(
  leases: Leases,
  self: { readonly address: string; readonly leaseMs: number; readonly exclusive: boolean },
  stopped: () => boolean,
  time: Time = systemTime,
): Promise<void> {
  const others = await leases.othersAt(self.address);
  await leases.renew();
  if (self.address === '' && !self.exclusive && others.size > 0) {
    const checks = 10;
    for (let check = 1; check <= checks && !stopped(); check += 1) {
      await time.sleep(self.leaseMs / checks, { ref: false });
      await leases.renew();
      const now = await leases.othersAt(self.address);
      if ([...now].some(([id, beat]) => others.get(id) !== beat)) {
        await leases.end();
        throw new ConfigError([
          {
            setting: 'ADVERTISE_ADDRESS',
            reason: `Another device-link without ADVERTISE_ADDRESS is running on the same database: set ADVERTISE_ADDRESS (host:port) for each instance. ${advertiseExample}`,
          },
        ]);
      }
    }
  }
  await leases.remove([...others.keys()]);
}
