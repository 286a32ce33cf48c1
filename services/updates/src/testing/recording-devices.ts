import {
  ApplicationsService,
  DevicesService,
  type SendOperationRequest,
} from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { bindSome } from '@headset-cloud/rpc/testing/bind-some.ts';
import type { RpcBinding } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Fake of devices: knows clients and devices, and records the operations to send. */
export class RecordingDevices {
  /** Developers by client id. */
  readonly developers = new Map<string, string>();
  /** Reported firmware of activated devices; undefined: not reported. */
  readonly firmware = new Map<string, string | undefined>();
  readonly sent: SendOperationRequest[] = [];
  /** Error that the next send calls throw. */
  refusal: DomainError | undefined;

  readonly bindings: RpcBinding[] = [
    bindSome(ApplicationsService, {
      authorizeApplication: async ({ clientId }) => {
        const developerId = this.developers.get(clientId);
        if (!developerId)
          throw new DomainError('developer_not_registered', 'The developer is not registered.');
        return { developerId };
      },
    }),
    bindSome(DevicesService, {
      getDeviceStatus: async ({ deviceId }) => {
        if (!this.firmware.has(deviceId)) {
          throw new DomainError('device_not_activated', 'The device is not activated.');
        }
        const firmwareVersion = this.firmware.get(deviceId);
        return { status: { deviceId, ...(firmwareVersion && { firmwareVersion }) } };
      },
      sendOperation: async (request) => {
        if (this.refusal) throw this.refusal;
        const key = request.caller?.idempotency?.key;
        const known = key ? this.sent.findIndex((s) => s.caller?.idempotency?.key === key) : -1;
        if (known >= 0) return { transactionId: BigInt(known + 1) };
        this.sent.push(request);
        return { transactionId: BigInt(this.sent.length) };
      },
    }),
  ];
}
