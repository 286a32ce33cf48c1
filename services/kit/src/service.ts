import type { Registry } from 'prom-client';
import type { Clock } from './clock.ts';
import type { EventLog } from './eventlog/types.ts';
import type { Failpoints } from './failpoints.ts';
import type { Component } from './lifecycle.ts';
import type { Logger } from './logger.ts';
import type { Channel, RpcBinding } from './rpc/types.ts';
import type { SecretBox } from './secrets.ts';
import type { Store } from './store/types.ts';

/** The platform's services; the names stand in logs, metrics, databases and addresses. */
export const serviceNames = [
  'devices',
  'transactions',
  'updates',
  'connectivity',
  'communication',
  'billing',
  'device-link',
  'notifier',
] as const;
export type ServiceName = (typeof serviceNames)[number];

/** What the host gives a service: it does not know which stack it runs on. */
export interface ServiceContext {
  readonly logger: Logger;
  readonly clock: Clock;
  /** The service's own database. */
  readonly store: Store;
  readonly log: EventLog;
  /** The way to another service. */
  readonly channel: (to: ServiceName) => Channel;
  readonly secrets: SecretBox;
  readonly metrics: Registry;
  readonly failpoints: Failpoints;
  /** Names this process among its service's instances; new at each start. */
  readonly instanceId: string;
}

/** A service as its `build…()` returns it: nothing runs before `start`. */
export interface Service extends Component {
  readonly name: ServiceName;
  /** For the other services, over gRPC. Reachable before `start` resolves. */
  readonly rpc: readonly RpcBinding[];
  /** For operators, over Connect, on the admin port only. */
  readonly admin: readonly RpcBinding[];
}
