import { type Channel, type Client, createClient } from '@headset-cloud/kit/rpc/types.ts';
import { ApplicationsService, DevicesService } from '@headset-cloud/proto/headset/devices/v1/service_pb.ts';
import { TransactionsService } from '@headset-cloud/proto/headset/transactions/v1/service_pb.ts';

/** The services behind the gateway. Every call has a deadline; failures are DomainErrors. */
export interface GatewayClients {
  readonly applications: Client<typeof ApplicationsService>;
  readonly devices: Client<typeof DevicesService>;
  readonly transactions: Client<typeof TransactionsService>;
}

/** Makes the clients over channels to the services; `deadlineMs` is UPSTREAM_DEADLINE_MS. */
export function createGatewayClients(
  channel: (to: 'devices' | 'transactions') => Channel,
  deadlineMs: number,
): GatewayClients {
  const devices = channel('devices');
  return {
    applications: createClient(ApplicationsService, devices, { deadlineMs }),
    devices: createClient(DevicesService, devices, { deadlineMs }),
    transactions: createClient(TransactionsService, channel('transactions'), { deadlineMs }),
  };
}
