import type { EventLog } from '@headset-cloud/eventlog/types.ts';
import type { Channel, RpcBinding } from '@headset-cloud/rpc/types.ts';
import type { SealedLocation } from '@headset-cloud/rules/sealed/locations.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { type ConfigOf, type ConfigSpec, readConfig } from '@headset-cloud/runtime/config.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import type { Listeners } from '@headset-cloud/runtime/listeners/http-listener.ts';
import type { SecretBox } from '@headset-cloud/runtime/secrets.ts';
import type { ServiceName } from '@headset-cloud/runtime/service-names.ts';
import type { StepsContext } from '@headset-cloud/store/schema/prepared.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import type { Registry } from 'prom-client';

/** Dependencies that the host provides to a service, independent of the stack. */
export interface ServiceContext extends StepsContext {
  readonly clock: Clock;
  /** Another database, for data that is kept separately; absent: the service's own. */
  readonly database?: (name: string) => Store;
  readonly log: EventLog;
  /** The channel to another service. */
  readonly channel: (to: ServiceName) => Channel;
  /** Opens a channel to another instance of this service at host:port; absent if there are no other instances. */
  readonly channelToPeer?: (address: string) => Channel;
  readonly metrics: Registry;
  /** Limits of the process's listeners for HTTP; absent: the defaults. */
  readonly listeners?: Listeners;
}

/** Context of a service that seals its stored values. */
export interface SealingContext extends ServiceContext {
  readonly secrets: SecretBox;
}

/** Context from a host, which provides `secrets` only to services that seal their values. */
export interface HostContext extends ServiceContext {
  readonly secrets?: SecretBox | undefined;
}

/** A service, as its `build…()` returns it. Nothing runs before `start`. */
export interface Service extends Component {
  readonly name: ServiceName;
  /** RPCs for other services, over gRPC. They may be called before `start` resolves. */
  readonly rpc: readonly RpcBinding[];
  /** RPCs for operators, over Connect, on the admin port only. */
  readonly admin: readonly RpcBinding[];
  /** Locations of stored values that SECRET_KEY encrypts; absent: none. */
  readonly sealed?: readonly SealedLocation[];
}

/** A service that a process can run on either stack. */
export interface ServiceDefinition {
  readonly name: ServiceName;
  /** True: the service encrypts stored values with SECRET_KEY, so its host provides `secrets`. */
  readonly seals: boolean;
  /** Reads the service's configuration. Throws a ConfigError that names every invalid setting. */
  configure(env: Readonly<Record<string, string | undefined>>): (ctx: HostContext) => Service;
}

interface ServiceParts<S extends ConfigSpec, C> {
  readonly name: ServiceName;
  readonly config: S;
  readonly build: (ctx: C, config: ConfigOf<S>) => Service;
}

/** Combines a service's name and configuration with its `build…()`. */
export function defineService<S extends ConfigSpec>(
  service: ServiceParts<S, ServiceContext>,
): ServiceDefinition {
  const { name, config: spec, build } = service;
  return {
    ...{ name, seals: false },
    configure(env) {
      const config = readConfig(spec, env);
      return (ctx) => build(ctx, config);
    },
  };
}

/** The same for a service that seals its stored values. */
export function defineSealingService<S extends ConfigSpec>(
  service: ServiceParts<S, SealingContext>,
): ServiceDefinition {
  const { name } = service;
  return {
    ...defineService({
      ...service,
      build: (ctx: HostContext, config) => {
        const { secrets } = ctx;
        if (!secrets) throw new Error(`${name} encrypts stored values, but its host provides no key.`);
        return service.build({ ...ctx, secrets }, config);
      },
    }),
    seals: true,
  };
}
