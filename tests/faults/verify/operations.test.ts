import { operationById } from '@headset-cloud/proto/operations.ts';
import { operations } from './operations.ts';

// The checks use their own table, independent of the product. Only its ids must exist in the product.
it.each(Object.entries(operations))('%s is an operation of the catalogue', (_, id) => {
  expect(operationById(id)?.id).toBe(id);
});
