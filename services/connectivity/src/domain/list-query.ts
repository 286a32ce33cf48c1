import { ConnectivityTarget, NetworkType } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Network types that can be listed (rule A15). For mobile networks, only the access points (APN) can be listed. */
const listed: ReadonlySet<NetworkType> = new Set([NetworkType.BLUETOOTH, NetworkType.WIFI, NetworkType.APN]);

const targets: ReadonlySet<ConnectivityTarget> = new Set(Object.values(ConnectivityTarget));

/** The type of network to list; bluetooth if none is given (rule A15). Throws `invalid_argument`. */
export function listedNetwork(given: NetworkType): NetworkType {
  const wanted = given || NetworkType.BLUETOOTH;
  if (listed.has(wanted)) return wanted;
  throw new DomainError('invalid_argument', 'networkType is not one of bluetooth, wifi, apn.');
}

/** The target of the list; available if none is given (specification API 5). Throws `invalid_argument`. */
export function listedTarget(given: ConnectivityTarget): ConnectivityTarget {
  const wanted = given || ConnectivityTarget.AVAILABLE;
  if (targets.has(wanted)) return wanted;
  throw new DomainError('invalid_argument', 'target is not one of all, connected, available.');
}
