import { SecretsAdminService } from '@headset-cloud/proto/secrets/v1/admin_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { SecretKeys } from '@headset-cloud/runtime/secrets.ts';
import type { Audit } from '../audit/outbox.ts';
import { lookThrough } from './look-through.ts';
import type { NotedKeys } from './noted-keys.ts';
import type { SealedPlace } from './places.ts';

/** Sealed values of one service of this process. */
export interface SealedOfService {
  readonly service: string;
  readonly places: readonly SealedPlace[];
  readonly noted: NotedKeys;
  readonly audit: Audit;
}

/** The operators' listener for the sealed values of this process's services (proto/secrets/v1/admin.proto). */
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
          services.map(async ({ service, places, noted }) => ({
            service,
            sealingKey: secrets.sealing,
            otherKeys: [...secrets.others],
            notedKeys: await noted.list(),
            places: places.map(({ name }) => name),
          })),
        ),
      };
    },
    async lookThroughSecrets({ service, place: name, after, reseal }) {
      const { places, noted, audit } = serviceOf(service);
      const place = places.find((one) => one.name === name);
      if (!place) throw new DomainError('not_found', `${service} has no sealed ${name}.`);
      const resealed = { target: `${service}/${name}/${secrets.sealing}`, fields: ['sealing key'] };
      const {
        next = '',
        keys,
        ...counts
      } = await lookThrough(place, secrets, {
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
