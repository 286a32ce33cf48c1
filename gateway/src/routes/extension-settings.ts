import type { Settings } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { GatewayClients } from '../clients.ts';
import type { Answer } from '../http/answer.ts';
import { bodyOf } from './decode.ts';
import type { Handlers } from './types.ts';

function settingsAnswer(settings: Settings | undefined): Answer {
  return { status: 200, json: { noticeEvent: settings?.noticeEvent ?? null } };
}

/** The settings of an application beyond the specification (ADR 0055). */
export function extensionSettingsHandlers({ applications }: Pick<GatewayClients, 'applications'>): Handlers {
  return {
    'get-v1-applications-extension-settings': async ({ applicationId }) =>
      settingsAnswer((await applications.getSettings({ applicationId })).settings),

    // A missing field is unchanged; null removes the setting (rule A6).
    'patch-v1-applications-extension-settings': async (call) => {
      const { noticeEvent } = bodyOf<{ noticeEvent?: string | null }>(call);
      const { settings } = await applications.updateSettings({
        caller: call.caller,
        set: noticeEvent ? { noticeEvent } : {},
        remove: noticeEvent === null ? ['noticeEvent'] : [],
      });
      if (noticeEvent && settings?.noticeEvent === undefined) {
        // During an upgrade, an instance of devices of the previous release may answer; it ignores unknown settings.
        throw new DomainError('unavailable', 'The settings cannot be changed now.', { retryAfterMs: 5000 });
      }
      return settingsAnswer(settings);
    },
  };
}
