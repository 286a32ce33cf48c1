import type { DeviceBill, GetBillResponse } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import type { GatewayClients } from '../clients.ts';
import type { Handlers } from './types.ts';

const deviceJson = (d: DeviceBill) => ({
  deviceId: d.deviceId,
  plans: {
    videoMeeting: d.plans?.videoMeeting ?? null,
    speechRecognition: d.plans?.speechRecognition ?? null,
  },
  amountVideoMeeting: d.videoMeetingHours,
  amountSpeechRecognition: d.speechRecognitionHours,
});

/** The bill of a month; only the current month has activateDevices (rule A17). */
function billJson(bill: GetBillResponse): object {
  const { activateDevices } = bill;
  return {
    numberOfDevices: bill.numberOfDevices,
    ...(activateDevices !== undefined && { activateDevices }),
    devices: bill.devices.map(deviceJson),
    others: {
      amountVideoMeeting: bill.othersVideoMeetingHours,
      amountSpeechRecognition: bill.othersSpeechRecognitionHours,
    },
  };
}

/** Usage and billing. */
export function billingHandlers({ billing }: Pick<GatewayClients, 'billing'>): Handlers {
  return {
    'get-v1-applications-billing': async ({ applicationId, query }) => {
      const month = { year: Number(query['year']), month: Number(query['month']) };
      return { status: 200, json: billJson(await billing.getBill({ applicationId, ...month })) };
    },
  };
}
