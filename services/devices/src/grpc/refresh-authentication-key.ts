import { randomBytes, randomUUID } from 'node:crypto';
import type { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { refusals } from '../domain/refusals.ts';
import { requireCaller } from './caller.ts';
import type { HandlerDependencies } from './dependencies.ts';

const keyBytes = 32;

/**
 * POST …/refresh_authkey: creates a key of 256 random bits as URL-safe text. When the call returns, the old key is not
 * used any more (rule A6), because each attempt of a callback reads the key.
 */
export function refreshAuthenticationKeyHandler(
  deps: HandlerDependencies,
): Handlers<typeof ApplicationsService>['refreshAuthenticationKey'] {
  return async ({ caller: given }) => {
    const caller = requireCaller(given);
    const authenticationKey = await deps.idempotency.run(caller, {
      draw: async () => ({ changeId: randomUUID(), key: randomBytes(keyBytes).toString('base64url') }),
      work: async ({ changeId, key }) => {
        const set = { authenticationKey: key };
        const { applicationId, clientId } = caller;
        const fields = ['authenticationKey'];
        const changed = await deps.audit.change({ applicationId, clientId, fields }, (record) =>
          deps.applications.change(applicationId, { changeId, set, remove: [] }, record),
        );
        if (!changed) throw refusals.applicationForbidden();
        return key;
      },
    });
    return { authenticationKey };
  };
}
