import { operationById } from '@headset-cloud/proto/operations.ts';
import { operations } from './operations.ts';

// The judge has its own table, so that it is independent. Only the names must be those of the product.
it.each(Object.entries(operations))('%s is an operation of the catalogue', (_, id) => {
  expect(operationById(id)?.id).toBe(id);
});
