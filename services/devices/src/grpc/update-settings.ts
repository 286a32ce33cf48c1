import { randomUUID } from 'node:crypto';
import type { ApplicationsService, Settings } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { refusals } from '../domain/refusals.ts';
import {
  type ApplicationSettings,
  type EndpointRules,
  type EndpointSetting,
  type Endpoints,
  endpointSettings,
  isEndpointSetting,
  requireEndpointUrl,
} from '../domain/settings.ts';
import { requireCaller } from './caller.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** PATCH /v1/applications/{applicationId} (rule A6). */
export function updateSettingsHandler(
  deps: HandlerDependencies,
): Handlers<typeof ApplicationsService>['updateSettings'] {
  return async ({ caller: given, set, remove }) => {
    const caller = requireCaller(given);
    const change = { set: endpointsToSet(set, deps.endpointRules), remove: namesToRemove(remove) };
    const both = change.remove.find((name) => name in change.set);
    if (both) throw new DomainError('invalid_argument', `${both} is both set and removed.`);
    const settings: ApplicationSettings = await deps.idempotency.run(caller, {
      // With an id for the change, a repeated call after a crash does not overwrite a later change.
      draw: async () => randomUUID(),
      work: async (changeId) => {
        const { applicationId, clientId } = caller;
        const fields = [...Object.keys(change.set), ...change.remove];
        const changed = await deps.audit.change({ applicationId, clientId, fields }, (record) =>
          deps.applications.change(applicationId, { changeId, ...change }, record),
        );
        if (!changed) throw refusals.applicationForbidden();
        return changed;
      },
    });
    return { settings };
  };
}

function endpointsToSet(set: Settings | undefined, rules: EndpointRules): Endpoints {
  if (set?.authenticationKey !== undefined) {
    throw new DomainError('invalid_argument', 'authenticationKey cannot be set: it is issued.');
  }
  const endpoints: Partial<Record<EndpointSetting, string>> = {};
  for (const name of endpointSettings) {
    const url = set?.[name];
    if (url === undefined) continue;
    requireEndpointUrl(name, url, rules);
    endpoints[name] = url;
  }
  return endpoints;
}

function namesToRemove(names: readonly string[]): EndpointSetting[] {
  return names.map((name) => {
    if (!isEndpointSetting(name)) {
      throw new DomainError('invalid_argument', `${name} is not a setting that can be removed.`);
    }
    return name;
  });
}
