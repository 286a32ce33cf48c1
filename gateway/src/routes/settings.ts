import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ApnSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { GatewayClients } from '../clients.ts';
import { invalidBody } from '../http/errors.ts';
import { compact } from '../http/json.ts';
import { bodyOf } from './decode.ts';
import { operate } from './operate.ts';
import type { Handlers } from './types.ts';

const apnNumbers = ['authType', 'bearer', 'bearerBitmask'] as const;

type ApnTexts = Omit<MessageInitShape<typeof ApnSchema>, (typeof apnNumbers)[number] | '$typeName'>;
type ApnEntry = ApnTexts & Partial<Record<(typeof apnNumbers)[number], number>>;

interface WifiEntry {
  readonly ssid: string;
  readonly password?: string;
  readonly security?: string;
}

/** An APN entry in the services' form, with the same names in JSON and in the message. */
function decodeApn(entry: ApnEntry): MessageInitShape<typeof ApnSchema> {
  const { authType, bearer, bearerBitmask, ...texts } = entry;
  return {
    ...texts,
    ...(authType !== undefined && { authType: BigInt(authType) }),
    ...(bearer !== undefined && { bearer: BigInt(bearer) }),
    ...(bearerBitmask !== undefined && { bearerBitmask: BigInt(bearerBitmask) }),
  };
}

interface LauncherKeys {
  readonly 'key-config': readonly {
    readonly 'key-action': {
      readonly 'action-param'?: {
        readonly extras?: readonly { readonly 'key-type': string; readonly 'key-value': string | number }[];
      };
    };
  }[];
}

/** Throws invalid_body for an extra of type int whose value is neither an integer nor the text of one. */
function requireIntegers({ 'key-config': keys }: LauncherKeys): void {
  for (const [key, { 'key-action': action }] of keys.entries()) {
    for (const [extra, given] of (action['action-param']?.extras ?? []).entries()) {
      if (given['key-type'] === 'int' && !/^-?\d+$/.test(String(given['key-value']))) {
        const pointer = `/key-config/${key}/key-action/action-param/extras/${extra}/key-value`;
        throw invalidBody(pointer, 'must be an integer if key-type is int.');
      }
    }
  }
}

/** Settings that a headset applies: access points, Wi-Fi, languages, launcher keys. */
export function settingsHandlers({ devices }: Pick<GatewayClients, 'devices'>): Handlers {
  return {
    'put-v1-applications-devices-settings-apn': (call) => {
      const apns = bodyOf<readonly ApnEntry[]>(call).map(decodeApn);
      return operate(devices, call, {
        case: 'applyApns',
        value: { apns },
      });
    },

    'put-v1-applications-devices-settings-wifi': (call) => {
      const networks = [...bodyOf<readonly WifiEntry[]>(call)];
      return operate(devices, call, {
        case: 'applyWifi',
        value: { networks },
      });
    },

    'put-v1-applications-devices-settings-lang': (call) => {
      const languages = [...bodyOf<readonly string[]>(call)];
      return operate(devices, call, {
        case: 'applyLanguages',
        value: { languages },
      });
    },

    // The configuration is passed on unchanged: the cloud checks only its format (specification API 5).
    'put-v1-applications-devices-apps-launcher-keys': (call) => {
      requireIntegers(bodyOf<LauncherKeys>(call));
      return operate(devices, call, {
        case: 'applyLauncherKeys',
        value: { configJson: compact(call.body?.text ?? '') },
      });
    },
  };
}
