import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { ConfigError } from '@headset-cloud/runtime/config.ts';
import { advertiseExample } from '../config.ts';
import type { Leases } from '../store/leases.ts';
import { pause } from './retry.ts';

/**
 * Takes this instance's first lease (rule B5). Whoever had the advertised address before is dead,
 * since the address is now ours. Without an address nobody can tell: the instance waits for one lease,
 * and gives up with a ConfigError when another one without an address is alive. `exclusive`: nobody
 * else can have the store open, so all others are dead.
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
    const looks = 10;
    for (let look = 1; look <= looks && !stopped(); look += 1) {
      await pause(self.leaseMs / looks, time);
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
  await leases.bury([...others.keys()]);
}
