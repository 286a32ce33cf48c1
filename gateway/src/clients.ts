import { BillingService } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { CommunicationService } from '@headset-cloud/proto/communication/v1/service_pb.ts';
import { ConnectivityService } from '@headset-cloud/proto/connectivity/v1/service_pb.ts';
import { ApplicationsService, DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { DeliveriesService } from '@headset-cloud/proto/notifier/v1/deliveries_pb.ts';
import { FeedService } from '@headset-cloud/proto/notifier/v1/feed_pb.ts';
import { TestCallbacksService } from '@headset-cloud/proto/notifier/v1/test_callbacks_pb.ts';
import { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import { type Channel, type Client, createClient } from '@headset-cloud/rpc/types.ts';
import type { ServiceName } from '@headset-cloud/runtime/service-names.ts';

/** The services behind the gateway. Every call has a deadline; failures are DomainErrors. */
export interface GatewayClients {
  readonly applications: Client<typeof ApplicationsService>;
  readonly devices: Client<typeof DevicesService>;
  readonly transactions: Client<typeof TransactionsService>;
  readonly updates: Client<typeof UpdatesService>;
  readonly connectivity: Client<typeof ConnectivityService>;
  readonly communication: Client<typeof CommunicationService>;
  readonly billing: Client<typeof BillingService>;
  readonly feed: Client<typeof FeedService>;
  readonly deliveries: Client<typeof DeliveriesService>;
  readonly tests: Client<typeof TestCallbacksService>;
}

/** Creates the clients over channels to the services; `deadlineMs` is UPSTREAM_DEADLINE_MS. */
export function createGatewayClients(
  channel: (to: ServiceName) => Channel,
  deadlineMs: number,
): GatewayClients {
  const devices = channel('devices');
  return {
    applications: createClient(ApplicationsService, devices, { deadlineMs }),
    devices: createClient(DevicesService, devices, { deadlineMs }),
    transactions: createClient(TransactionsService, channel('transactions'), { deadlineMs }),
    updates: createClient(UpdatesService, channel('updates'), { deadlineMs }),
    connectivity: createClient(ConnectivityService, channel('connectivity'), { deadlineMs }),
    communication: createClient(CommunicationService, channel('communication'), { deadlineMs }),
    billing: createClient(BillingService, channel('billing'), { deadlineMs }),
    feed: createClient(FeedService, channel('notifier'), { deadlineMs }),
    deliveries: createClient(DeliveriesService, channel('notifier'), { deadlineMs }),
    // The notifier waits up to 13 s for the integrator's server. `x-deadline-ms` of the call in the OpenAPI document
    // limits the whole call, so this deadline must not be shorter.
    tests: createClient(TestCallbacksService, channel('notifier'), {
      deadlineMs: Math.max(deadlineMs, 15_000),
    }),
  };
}
