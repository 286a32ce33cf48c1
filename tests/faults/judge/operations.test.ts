import { operationById } from '@headset-cloud/proto/operations.ts';
import { operations } from './operations.ts';

// The judge's table is its own, as an independent witness. Only the names must be those of the product.
it.each(Object.entries(operations))('%s is an operation of the catalogue', (_, id) => {
  expect(operationById(id)?.id).toBe(id);
});
