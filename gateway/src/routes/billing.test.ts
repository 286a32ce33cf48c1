import { create } from '@bufbuild/protobuf';
import { GetBillRequestSchema } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { describe, expect, test } from '@jest/globals';
import { deviceId } from '../testing/fakes.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const { send } = suite;
const app = '/v1/applications/app-1';
const message = (text: string) => JSON.parse(text).message as string;

describe('billing', () => {
  const path = `${app}/billing`;
  const asked = () => suite.asked('getBill', GetBillRequestSchema);
  // proves api/3/plan, api/3/billing-devices, api/3/billing-others, api/7/billing
  test('a bill with activateDevices, in the current month', async () => {
    suite.fakes.answers.getBill = async () => ({
      numberOfDevices: 2,
      activateDevices: 0,
      devices: [
        {
          deviceId,
          plans: { videoMeeting: 'basic 200', speechRecognition: 'ja' },
          videoMeetingHours: 3,
          speechRecognitionHours: 1,
        },
        { deviceId: '350000000000014', plans: {} },
      ],
      othersVideoMeetingHours: 4,
      othersSpeechRecognitionHours: 5,
    });
    const answer = await send('GET', `${path}?month=12&year=2026`);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      200,
      {
        numberOfDevices: 2,
        activateDevices: 0,
        devices: [
          {
            deviceId,
            plans: { videoMeeting: 'basic 200', speechRecognition: 'ja' },
            amountVideoMeeting: 3,
            amountSpeechRecognition: 1,
          },
          {
            deviceId: '350000000000014',
            plans: { videoMeeting: null, speechRecognition: null },
            amountVideoMeeting: 0,
            amountSpeechRecognition: 0,
          },
        ],
        others: { amountVideoMeeting: 4, amountSpeechRecognition: 5 },
      },
    ]);
    expect(asked()).toEqual(create(GetBillRequestSchema, { applicationId: 'app-1', year: 2026, month: 12 }));
  });
  // proves api/3/billing-counts
  test('in other months activateDevices is absent', async () => {
    expect((await send('GET', `${path}?month=1&year=2022`)).text).toBe(
      '{"numberOfDevices":0,"devices":[],"others":{"amountVideoMeeting":0,"amountSpeechRecognition":0}}',
    );
    expect(asked()).toEqual(create(GetBillRequestSchema, { applicationId: 'app-1', year: 2022, month: 1 }));
  });
  const month = 'The query parameter month must be a whole number from 1 to 12.';
  const year = 'The query parameter year must be a whole number from 2022 to 9999.';
  // proves api/5/billing-month, api/5/billing-year
  test.each([
    ['', 'The query parameter month is required.'],
    ['year=2026', 'The query parameter month is required.'],
    ['month=1', 'The query parameter year is required.'],
    ['month=0&year=2026', month],
    ['month=13&year=2026', month],
    ['month=-1&year=2026', month],
    ['month=&year=2026', month],
    ['month=1.5&year=2026', month],
    ['month=Jan&year=2026', month],
    ['month=1&year=2021', year],
    ['month=1&year=10000', year],
    ['month=1&year=x', year],
    ['month=1&month=1&year=2026', 'The query parameter month is given twice.'],
  ])('%p is 400: %s', async (query, text) => {
    const answer = await send('GET', `${path}?${query}`);
    expect([answer.status, message(answer.text)]).toEqual([400, text]);
    expect(asked()).toBeUndefined();
  });
});
