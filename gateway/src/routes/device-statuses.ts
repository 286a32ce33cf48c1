import { createHash } from 'node:crypto';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { GatewayClients } from '../clients.ts';
import { timeOf } from './decode.ts';
import { dateOrNull } from './encode.ts';
import { statusJson } from './status.ts';
import type { Call, Handlers } from './types.ts';

const filterNames = ['activatedSince', 'network', 'batteryBelow', 'clientVersion'] as const;

/** Text of the application and the filters of a list, to which a cursor belongs. */
function listOf({ applicationId, query }: Pick<Call, 'applicationId' | 'query'>): string {
  const filters = filterNames.map((name) => query[name] ?? null);
  const digest = createHash('sha256').update(JSON.stringify([applicationId, ...filters]));
  return digest.digest('base64url').slice(0, 12);
}

const cursorForm = /^(\d{15})([\w-]{12})$/;

function cursorOf(list: string, deviceId: string): string {
  return Buffer.from(`${deviceId}${list}`).toString('base64url');
}

/** The device after which a page begins. Throws invalid_argument for a cursor of another list. */
function deviceOf(list: string, cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const [, deviceId, its] = cursorForm.exec(text) ?? [];
  if (deviceId !== undefined && its === list && cursorOf(list, deviceId) === cursor) return deviceId;
  throw new DomainError(
    'invalid_argument',
    'The query parameter cursor does not belong to this list. Repeat the filters of the call that returned it, or leave it out to start again.',
  );
}

/** The devices' statuses in pages, with filters. The specified list has neither pages nor filters. */
export function deviceStatusHandlers({ devices }: Pick<GatewayClients, 'devices'>): Handlers {
  return {
    'get-v1-applications-device-statuses': async (call) => {
      const { applicationId, query } = call;
      const list = listOf(call);
      const activatedSinceMs = timeOf(query, 'activatedSince');
      const { cursor, limit, network, batteryBelow, clientVersion } = query as {
        cursor?: string;
        limit: number;
        network?: string;
        batteryBelow?: number;
        clientVersion?: string;
      };
      const { found, nextAfterDeviceId } = await devices.findDeviceStatuses({
        ...{ applicationId, limit },
        afterDeviceId: cursor === undefined ? '' : deviceOf(list, cursor),
        ...(activatedSinceMs !== undefined && { activatedSinceMs }),
        ...(network !== undefined && { network }),
        ...(batteryBelow !== undefined && { batteryBelow }),
        ...(clientVersion !== undefined && { clientVersion }),
      });
      return {
        status: 200,
        json: {
          devices: found.flatMap(({ status, activatedAtMs, clientVersion: version }) =>
            status
              ? [
                  {
                    ...statusJson(status),
                    activatedAt: dateOrNull(activatedAtMs),
                    clientVersion: version ?? null,
                  },
                ]
              : [],
          ),
          cursor: nextAfterDeviceId === '' ? null : cursorOf(list, nextAfterDeviceId),
        },
      };
    },
  };
}
