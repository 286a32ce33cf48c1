import { operationById, operationOf, operations, ResultForm } from '@headset-cloud/proto/operations.ts';

/** The operations that report progress, by operationId. */
export const operationsWithProgress: readonly string[] = operations
  .filter(({ reportsProgress }) => reportsProgress)
  .map(({ id }) => id);

/** The operations whose called app sends its own answer, by operationId. */
export const answeredOperations: readonly string[] = operations
  .filter(({ appAnswers }) => appAnswers)
  .map(({ id }) => id);

/** A reset ends without a report of its own (rule B7). */
export const resetOperation = operationOf('reset').id;

/**
 * The form of an operation's callbacks; the general one for an operation that this version does not know.
 */
export const formOf = (operationId: string): ResultForm =>
  operationById(operationId)?.resultForm ?? ResultForm.GENERAL;

const connectivityForms: ReadonlySet<ResultForm> = new Set([
  ResultForm.CONNECTIVITY_LIST,
  ResultForm.CONNECTIVITY_STATE,
  ResultForm.CONNECTIVITY_RESET,
  ResultForm.BLUETOOTH_PAIRING,
]);

/** True: the end carries the headset's findings. */
export const isConnectivity = (form: ResultForm): boolean => connectivityForms.has(form);
