import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { expect, test } from '@jest/globals';
import { AddressRate } from './address-rate.ts';

const taken = (rate: AddressRate, addresses: readonly string[]) =>
  addresses.map((address) => {
    try {
      rate.take(address);
      return true;
    } catch (error) {
      expect(error).toBeInstanceOf(DomainError);
      expect((error as DomainError).code).toBe('too_many_requests');
      return false;
    }
  });

test('each address has its own burst', () => {
  const rate = new AddressRate('openapi', { perSecond: 1, burst: 2 }, createFakeTime());
  expect(taken(rate, ['10.0.0.1', '10.0.0.1', '10.0.0.1', '10.0.0.2'])).toEqual([true, true, false, true]);
});

test('addresses of one /64 of IPv6 count together, and separately from another /64', () => {
  const rate = new AddressRate('openapi', { perSecond: 1, burst: 1 }, createFakeTime());
  const same = ['2001:db8::1', '2001:0db8:0:0:ffff::', '2001:db8:0:0:1:2:3:4'];
  expect(taken(rate, [...same, '2001:db8:0:1::1', '::1'])).toEqual([true, false, false, true, true]);
});
