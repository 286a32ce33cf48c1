import { operationById, operationOf, operations, ResultForm } from '@headset-cloud/proto/operations.ts';

/** Ids of the operations that report progress. */
export const operationsWithProgress: readonly string[] = operations
  .filter(({ reportsProgress }) => reportsProgress)
  .map(({ id }) => id);

/** Ids of the operations whose called app sends an answer. */
export const answeredOperations: readonly string[] = operations
  .filter(({ appAnswers }) => appAnswers)
  .map(({ id }) => id);

/** Id of the reset, which ends without a report (rule B7). */
export const resetOperation = operationOf('reset').id;

/** Form of an operation's callbacks; the general form for an operation that this version does not know. */
export const formOf = (operationId: string): ResultForm =>
  operationById(operationId)?.resultForm ?? ResultForm.GENERAL;

const connectivityForms: ReadonlySet<ResultForm> = new Set([
  ResultForm.CONNECTIVITY_LIST,
  ResultForm.CONNECTIVITY_STATE,
  ResultForm.CONNECTIVITY_RESET,
  ResultForm.BLUETOOTH_PAIRING,
]);

/** Whether the end contains the headset's findings. */
export const isConnectivity = (form: ResultForm): boolean => connectivityForms.has(form);
