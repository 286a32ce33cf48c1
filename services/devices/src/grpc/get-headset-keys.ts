import type { HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** For device-link: the keys that a headset may use to sign in. An unknown device has none. */
export function getHeadsetKeysHandler(
  deps: HandlerDependencies,
): Handlers<typeof HeadsetKeysService>['getHeadsetKeys'] {
  return async ({ deviceId }) => {
    const keys = await deps.reader.keys(deviceId);
    return { publicKeys: Object.fromEntries(keys.map((key) => [key.keyId, key.publicKeyPem])) };
  };
}
