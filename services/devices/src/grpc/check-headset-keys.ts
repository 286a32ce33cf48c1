import type { HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { HandlerDependencies } from './dependencies.ts';

const maxKeysPerCall = 1000;

/** For device-link: returns the keys of open sessions that are no longer registered. */
export function checkHeadsetKeysHandler({
  keys: store,
  activation,
}: HandlerDependencies): Handlers<typeof HeadsetKeysService>['checkHeadsetKeys'] {
  return async ({ keys, withRecent }) => {
    if (keys.length > maxKeysPerCall) {
      throw new DomainError('invalid_argument', `keys: ${keys.length} are more than ${maxKeysPerCall}.`);
    }
    const nowMs = activation.clock.now();
    const recentDeviceIds = withRecent ? await store.recent(nowMs) : [];
    return { removed: await store.check(keys, nowMs), recentDeviceIds };
  };
}
