import { type ConfigOf, text } from '@headset-cloud/runtime/config.ts';
import { type AddressRules, addressRules, parseNetworks, rejectThisMachine } from './address-rules.ts';

/** Keys of devices, where destinations are registered, and notifier, which sends to them (rule C10). */
export const callbackAddressesConfig = {
  NOTIFIER_ALLOW_ADDRESSES: {
    ...text({
      doc: 'Non-public addresses to which callbacks are allowed: networks, separated by commas. Devices and notifier need the same value: an address that devices does not allow cannot be registered. In production no network of the machine itself (127.0.0.0/8, ::1/128).',
      example: '10.20.0.0/16,fd00:20::/64',
    }),
    productionCheck: rejectThisMachine,
    parse: (value: string): string => {
      parseNetworks(value);
      return value;
    },
  },
} as const;

/** The addresses to which callbacks may go. */
export function callbackAddressesOf(config: ConfigOf<typeof callbackAddressesConfig>): AddressRules {
  return addressRules(parseNetworks(config.NOTIFIER_ALLOW_ADDRESSES));
}
