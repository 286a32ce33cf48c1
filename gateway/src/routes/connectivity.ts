import { ConnectivityTarget, NetworkType } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { GatewayClients } from '../clients.ts';
import type { Answer } from '../http/answer.ts';
import { bodyOf } from './decode.ts';
import { transactionCreated } from './encode.ts';
import type { Call, Handlers } from './types.ts';

const targets: Readonly<Record<string, ConnectivityTarget>> = {
  all: ConnectivityTarget.ALL,
  connected: ConnectivityTarget.CONNECTED,
  available: ConnectivityTarget.AVAILABLE,
};

const networkTypes: Readonly<Record<string, NetworkType>> = {
  bluetooth: NetworkType.BLUETOOTH,
  wifi: NetworkType.WIFI,
  apn: NetworkType.APN,
};

interface PairingBody {
  readonly macAddress: string;
  readonly state: 'connect' | 'disconnect';
}

type Created = Promise<{ readonly transactionId: bigint }>;

/** Every call creates a transaction, whose result is sent as a callback (rule A15). */
export function connectivityHandlers({ connectivity }: Pick<GatewayClients, 'connectivity'>): Handlers {
  const answer = async ({ applicationId }: Call, created: Created): Promise<Answer> =>
    transactionCreated(applicationId, (await created).transactionId);
  const device = ({ caller, deviceId }: Call) => ({ caller, deviceId });

  return {
    'get-v1-applications-connectivity-list': (call) => {
      const target = targets[String(call.query['target'])] ?? ConnectivityTarget.UNSPECIFIED;
      const networkType = networkTypes[String(call.query['networkType'])] ?? NetworkType.UNSPECIFIED;
      return answer(call, connectivity.listConnectivity({ ...device(call), networkType, target }));
    },

    'get-v1-applications-connectivity-state': (call) => answer(call, connectivity.readState(device(call))),

    'put-v1-applications-connectivity-state': (call) => {
      const enabled = bodyOf<{ readonly state: string }>(call).state === 'enabled';
      return answer(call, connectivity.changeState({ ...device(call), enabled }));
    },

    'delete-v1-applications-connectivity-reset': (call) =>
      answer(call, connectivity.resetConnectivity(device(call))),

    'post-v1-applications-bluetooth-device': (call) => {
      const { macAddress } = bodyOf<PairingBody>(call);
      return answer(call, connectivity.addPairing({ ...device(call), macAddress }));
    },

    'put-v1-applications-bluetooth-device': (call) => {
      const { macAddress, state } = bodyOf<PairingBody>(call);
      const connect = state === 'connect';
      return answer(call, connectivity.changePairing({ ...device(call), macAddress, connect }));
    },

    'delete-v1-applications-bluetooth-device': (call) => {
      const { macAddress } = bodyOf<PairingBody>(call);
      return answer(call, connectivity.deletePairing({ ...device(call), macAddress }));
    },
  };
}
