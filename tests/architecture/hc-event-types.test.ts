import { readEventTypes } from '@headset-cloud/gateway/openapi/event-types.ts';
import { eventTypes } from '@headset-cloud/hc/event-types.ts';

test('hc completes the types of the contract documents', () => {
  expect(eventTypes).toEqual(readEventTypes().map(({ type }) => type));
});
