import { SecretsAdminService } from '@headset-cloud/proto/secrets/v1/admin_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { SecretKeys } from '@headset-cloud/runtime/secrets.ts';
import type { Audit } from '../audit/outbox.ts';
import { inspectSealed } from './inspect.ts';
import type { SealedLocation } from './locations.ts';
import type { NotedKeys } from './noted-keys.ts';

/** Sealed values of one service of this process. */
export interface SealedOfService {
  readonly service: string;
  readonly locations: readonly SealedLocation[];
  readonly noted: NotedKeys;
  readonly audit: Audit;
}

/**
 * RPCs with which operators inspect and re-encrypt the sealed values of this process's services
 * (proto/secrets/v1/admin.proto).
 */
export function secretsAdmin(secrets: SecretKeys, services: readonly SealedOfService[]): RpcBinding {
  const serviceOf = (name: string): SealedOfService => {
    const found = services.find(({ service }) => service === name);
    if (!found) throw new DomainError('not_found', `Nothing of the service ${name} is sealed here.`);
    return found;
  };
  return bind(SecretsAdminService, {
    async getSecrets() {
      return {
        services: await Promise.all(
          services.map(async ({ service, locations, noted }) => ({
            service,
            sealingKey: secrets.sealing,
            otherKeys: [...secrets.others],
            notedKeys: await noted.list(),
            places: locations.map(({ name }) => name),
          })),
        ),
      };
    },
    async lookThroughSecrets({ service, place: name, after, reseal }) {
      const { locations, noted, audit } = serviceOf(service);
      const location = locations.find((one) => one.name === name);
      if (!location) throw new DomainError('not_found', `${service} has no sealed ${name}.`);
      const resealed = { target: `${service}/${name}/${secrets.sealing}`, fields: ['sealing key'] };
      const {
        next = '',
        keys,
        ...counts
      } = await inspectSealed(location, secrets, {
        after,
        reseal: reseal ? () => audit.change(resealed, (record) => noted.reseals(record)) : undefined,
      });
      return {
        next,
        ...counts,
        unopened: [...counts.unopened],
        keys: [...keys].map(([key, values]) => ({ key, values })),
      };
    },
    async forgetSecretKey({ service, key }) {
      if (key === secrets.sealing) {
        throw new DomainError('invalid_argument', `${service} seals by key ${key}: it cannot be forgotten.`);
      }
      const { noted, audit } = serviceOf(service);
      await audit.change({ target: `${service}/${key}` }, (record) => noted.forget(key, record));
      return {};
    },
  });
}
