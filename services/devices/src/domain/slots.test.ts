import { returnOutcome, takeOutcome } from './slots.ts';

const take = { id: 'take', deviceId: '1', intentId: 'intent', atMs: 1 };
const intent = { id: 'intent', applicationId: 'app', transactionId: 1, untilMs: 2 };
const slot = { applicationId: 'app', id: 'take' };

test.each([
  ['is confirmed once the device has it', { slot }, 'confirm'],
  ['stays while its intent exists', { intent }, 'open'],
  ['is refunded when its intent is over', { intent: { ...intent, id: 'next' } }, 'refund'],
  ['is refunded when another take of the intent was faster', { slot: { ...slot, id: 'other' } }, 'refund'],
  ['is refunded when there is no device', undefined, 'refund'],
])('a take %s', (_, device, outcome) => {
  expect(takeOutcome(device, take)).toBe(outcome);
});

const entry = { id: 'return', deviceId: '1', slotId: 'take', atMs: 1 };

test.each([
  ['first makes the device give its slot back', { slot }, 'give'],
  ['frees the slot that was given back with it', { returned: { slotId: 'take', id: 'return' } }, 'finish'],
  ['frees nothing that another return freed', { returned: { slotId: 'take', id: 'other' } }, 'cancel'],
  ['leaves a later slot alone', { slot: { ...slot, id: 'later' } }, 'cancel'],
  ['of no device frees nothing', undefined, 'cancel'],
])('a return %s', (_, device, outcome) => {
  expect(returnOutcome(device, entry)).toBe(outcome);
});
