import {
  type SealedField,
  type SealedLocation,
  sealedFields,
} from '@headset-cloud/rules/sealed/locations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { ApplicationDocument, DeviceDocument } from './documents.ts';
import { purposes } from './sealed-text.ts';

export function sealedAuthenticationKeys(applications: StoreCollection<ApplicationDocument>): SealedLocation {
  return sealedFields(applications, {
    name: 'authentication keys',
    projection: { authenticationKey: 1 },
    fields: ({ _id, authenticationKey: text }) =>
      text === undefined
        ? []
        : [{ path: 'authenticationKey', text, purpose: purposes.authenticationKey(_id) }],
  });
}

/** The client secrets of activations, of replaced activations, and of transactions that are not created yet. */
export function sealedClientSecrets(devices: StoreCollection<DeviceDocument>): SealedLocation {
  return sealedFields(devices, {
    name: 'client secrets',
    projection: { 'activation.clientSecret': 1, 'activation.earlier': 1, pending: 1 },
    fields: ({ _id, activation, pending }) => {
      const purpose = purposes.clientSecret(_id);
      const field = (path: string, text: string | undefined): SealedField[] =>
        text === undefined ? [] : [{ path, text, purpose }];
      return [
        ...field('activation.clientSecret', activation?.clientSecret),
        ...(activation?.earlier ?? []).flatMap((one, index) =>
          field(`activation.earlier.${index}.clientSecret`, one.clientSecret),
        ),
        ...pending.flatMap((one, index) =>
          one.kind === 'activate' ? field(`pending.${index}.clientSecret`, one.clientSecret) : [],
        ),
      ];
    },
  });
}
