import { UsageKind } from '@headset-cloud/proto/headset/billing/v1/events_pb.ts';
import type { Admin } from '../support/provision.ts';
import type { Billed, Usage } from './evidence.ts';
import type { Tenant } from './world.ts';

const kinds: Readonly<Record<number, Usage['kind']>> = {
  [UsageKind.VIDEO_MEETING]: 'video',
  [UsageKind.SPEECH_RECOGNITION]: 'speech',
};
/** As many as the operators' list answers; more would be a load of a day. */
const limit = 1000;

/** Every record of use in the month that the load used. */
export async function gatherUsage(admin: Admin, { applicationId, said }: Tenant): Promise<Usage[]> {
  const { usage } = await admin.billing.listUsage({ applicationId, ...said.month, limit });
  if (usage.length >= limit)
    throw new Error(`${applicationId} has more than ${limit} uses: list them by pages`);
  return usage.map(({ deviceId, kind, durationMs }) => {
    const name = kinds[kind];
    if (!name) throw new Error(`a use of kind ${kind}`);
    return { applicationId, deviceId, kind: name, durationMs: Number(durationMs) };
  });
}

/** The amounts of the bill that the integrator gets. */
export async function gatherBills({ applicationId, api, said }: Tenant): Promise<Billed[]> {
  const { year, month } = said.month;
  const answer = await api.app('GET', `/billing?year=${year}&month=${month}`);
  if (answer.status !== 200) throw new Error(`the bill answered ${answer.status}`);
  const amounts = [...answer.body.devices, { deviceId: '', ...answer.body.others }];
  return amounts.flatMap(({ deviceId, amountVideoMeeting, amountSpeechRecognition }) => [
    { applicationId, deviceId, kind: 'video', hours: amountVideoMeeting },
    { applicationId, deviceId, kind: 'speech', hours: amountSpeechRecognition },
  ]);
}
