import type { MessageInitShape } from '@bufbuild/protobuf';
import type { GetBillResponseSchema, PlansSchema } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import type { Bill } from './domain/bill.ts';
import type { Plans } from './domain/plans.ts';

export function plansMessage({
  videoMeeting,
  speechRecognition,
}: Plans): MessageInitShape<typeof PlansSchema> {
  return {
    ...(videoMeeting !== null && { videoMeeting }),
    ...(speechRecognition !== null && { speechRecognition }),
  };
}

export function billMessage(bill: Bill): MessageInitShape<typeof GetBillResponseSchema> {
  const { numberOfDevices, activateDevices, devices, others } = bill;
  return {
    numberOfDevices,
    ...(activateDevices !== undefined && { activateDevices }),
    devices: devices.map(({ deviceId, plans, hours }) => ({
      deviceId,
      plans: plansMessage(plans),
      videoMeetingHours: hours.videoMeeting,
      speechRecognitionHours: hours.speechRecognition,
    })),
    othersVideoMeetingHours: others.videoMeeting,
    othersSpeechRecognitionHours: others.speechRecognition,
  };
}
