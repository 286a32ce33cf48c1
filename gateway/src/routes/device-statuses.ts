import { createHash } from 'node:crypto';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { GatewayClients } from '../clients.ts';
import { timeOf } from './decode.ts';
import { dateOrNull } from './encode.ts';
import { statusJson } from './status.ts';
import type { Call, Handlers } from './types.ts';

const filterNames = ['activatedSince', 'network', 'batteryBelow', 'clientVersion'] as const;

/** Digest of the application and the filters of a list. A cursor is valid only for a list with the same digest. */
function digestOf({ applicationId, query }: Pick<Call, 'applicationId' | 'query'>): string {
  const filters = filterNames.map((name) => query[name] ?? null);
  const digest = createHash('sha256').update(JSON.stringify([applicationId, ...filters]));
  return digest.digest('base64url').slice(0, 12);
}

const cursorForm = /^(\d{15})([\w-]{12})$/;

function encodeCursor(listDigest: string, deviceId: string): string {
  return Buffer.from(`${deviceId}${listDigest}`).toString('base64url');
}

/** Returns the device after which a page begins. Throws invalid_argument for a cursor of another list. */
function decodeCursor(listDigest: string, cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const [, deviceId, digest] = cursorForm.exec(text) ?? [];
  // The second comparison rejects other spellings of the same bytes, which the base64 decoder tolerates.
  if (deviceId !== undefined && digest === listDigest && encodeCursor(listDigest, deviceId) === cursor) {
    return deviceId;
  }
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
      const listDigest = digestOf(call);
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
        afterDeviceId: cursor === undefined ? '' : decodeCursor(listDigest, cursor),
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
          cursor: nextAfterDeviceId === '' ? null : encodeCursor(listDigest, nextAfterDeviceId),
        },
      };
    },
  };
}
