import type { Settings } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { GatewayClients } from '../clients.ts';
import type { Answer } from '../http/answer.ts';
import type { Call, Handlers } from './types.ts';

/** The settings that an integrator writes, with the same names in JSON and in the messages. */
const settingNames = [
  'deviceEvent',
  'remoteSupportEvent',
  'soraEvent',
  'soraFileSendEvent',
  'soraRecGetPresignedUrl',
  'soraRecGetMultiPresignedUrl',
  'fileUploadEvent',
  'fileUploadGetUrl',
] as const;

type SettingName = (typeof settingNames)[number];

/** Scope that a token needs to read the authentication key, which is a secret. */
const readScope = 'cws:application:read';

/**
 * The answer with all settings; a setting that is not set is null. The authentication key is absent if it was never
 * issued (rule A1), and for a token without the read scope (rule A6).
 */
function settingsAnswer(settings: Settings | undefined, { scopes }: Pick<Call, 'scopes'>): Answer {
  const json: Record<string, string | null> = {};
  if (settings?.authenticationKey && scopes.has(readScope)) {
    json['authenticationKey'] = settings.authenticationKey;
  }
  for (const name of settingNames) json[name] = settings?.[name] ?? null;
  return { status: 200, json };
}

/** Settings and authentication key of an application. */
export function applicationHandlers({ applications }: Pick<GatewayClients, 'applications'>): Handlers {
  return {
    'get-v1-applications': async (call) => {
      const { applicationId } = call;
      return settingsAnswer((await applications.getSettings({ applicationId })).settings, call);
    },

    // A missing field is unchanged; null removes the setting (rule A6).
    'patch-v1-applications': async (call) => {
      const { caller, body } = call;
      const set: Partial<Record<SettingName, string>> = {};
      const remove: string[] = [];
      const patch = body?.value as Partial<Record<SettingName, string | null>>;
      for (const name of settingNames) {
        const value = patch[name];
        if (value === null) remove.push(name);
        else if (value !== undefined) set[name] = value;
      }
      return settingsAnswer((await applications.updateSettings({ caller, set, remove })).settings, call);
    },

    'post-v1-applications-refresh-authkey': async ({ caller }) => {
      const { authenticationKey } = await applications.refreshAuthenticationKey({ caller });
      return { status: 201, json: { authenticationKey } };
    },
  };
}
