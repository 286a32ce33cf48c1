import type { Admin } from '@headset-cloud/demo/provision.ts';
import { type UsageEvent, UsageKind } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import type { Billed, Usage } from './evidence.ts';
import type { Tenant } from './world.ts';

const kinds: Readonly<Record<number, Usage['kind']>> = {
  [UsageKind.VIDEO_MEETING]: 'video',
  [UsageKind.SPEECH_RECOGNITION]: 'speech',
};
/** Page size of the operators' list. */
const limit = 1000;

/** Returns all usage records in the month of the load. */
export async function gatherUsage(admin: Admin, { applicationId, loadRecord }: Tenant): Promise<Usage[]> {
  const found: UsageEvent[] = [];
  for (let whole = false; !whole; ) {
    const page = { applicationId, ...loadRecord.month, limit, offset: found.length };
    const { usage } = await admin.billing.listUsage(page);
    found.push(...usage);
    whole = usage.length < limit;
  }
  return found.map(({ deviceId, kind, durationMs }) => {
    const name = kinds[kind];
    if (!name) throw new Error(`unknown usage type: ${kind}`);
    return { applicationId, deviceId, kind: name, durationMs: Number(durationMs) };
  });
}

/** Returns the amounts of the integrator's bill. */
export async function gatherBills({ applicationId, api, loadRecord }: Tenant): Promise<Billed[]> {
  const { year, month } = loadRecord.month;
  const answer = await api.app('GET', `/billing?year=${year}&month=${month}`);
  if (answer.status !== 200) throw new Error(`the bill answered ${answer.status}`);
  const amounts = [...answer.body.devices, { deviceId: '', ...answer.body.others }];
  return amounts.flatMap(({ deviceId, amountVideoMeeting, amountSpeechRecognition }) => [
    { applicationId, deviceId, kind: 'video', hours: amountVideoMeeting },
    { applicationId, deviceId, kind: 'speech', hours: amountSpeechRecognition },
  ]);
}
