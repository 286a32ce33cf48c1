import { getOption, hasOption, type MessageInitShape } from '@bufbuild/protobuf';
import { catalog, LatestBy, ResultForm } from './gen/device_link/v1/catalog_pb.ts';
import { type Operation, OperationSchema } from './gen/device_link/v1/device_link_pb.ts';

export { LatestBy, ResultForm };

/** Kind of an operation: the name of its field of the message Operation. */
export type OperationKind = NonNullable<Operation['kind']['case']>;

/** Minimum versions that support an operation; empty: any. */
export interface MinimumVersions {
  readonly client: string;
  readonly firmware: string;
}

/** Definition of an operation (device_link/v1/catalog.proto documents the fields). */
export interface OperationEntry {
  readonly kind: OperationKind;
  /** The operationId of its call. */
  readonly id: string;
  /** Undefined: every headset supports it. */
  readonly minimum: MinimumVersions | undefined;
  readonly resultForm: ResultForm;
  readonly reportsProgress: boolean;
  readonly latestBy: LatestBy;
  readonly appAnswers: boolean;
  readonly changesActivation: boolean;
}

function readCatalog(): readonly OperationEntry[] {
  return OperationSchema.fields.map((field) => {
    if (!hasOption(field, catalog)) throw new Error(`${field} has no (catalog) in device_link.proto`);
    const entry = getOption(field, catalog);
    const [client, firmware] = [entry.minimumClientVersion, entry.minimumFirmwareVersion];
    return Object.freeze({
      kind: field.localName as OperationKind,
      id: entry.operationId,
      minimum: client || firmware ? { client, firmware } : undefined,
      resultForm: entry.resultForm,
      reportsProgress: entry.reportsProgress,
      latestBy: entry.latestBy,
      appAnswers: entry.appAnswers,
      changesActivation: entry.changesActivation,
    });
  });
}

/** The catalogue of operations, as defined in device_link.proto: one entry for each kind. */
export const operations: readonly OperationEntry[] = readCatalog();

const byKind = new Map(operations.map((entry) => [entry.kind, entry]));
const byId = new Map(operations.map((entry) => [entry.id, entry]));

/** Returns the entry of a kind; every kind has one. */
export function operationOf(kind: OperationKind): OperationEntry {
  const entry = byKind.get(kind);
  if (!entry) throw new Error(`no operation is of the kind ${kind}`);
  return entry;
}

/** Returns the entry of a stored operationId; undefined: a newer version's, or no operation of a headset. */
export const operationById = (operationId: string): OperationEntry | undefined => byId.get(operationId);

/** An operation to send: its kind and its content. */
export type OperationInit = NonNullable<MessageInitShape<typeof OperationSchema>['kind']>;

/** Returns what distinguishes operations for 'latest' in addition to the operationId; empty: nothing else. */
export function subjectOf({ case: kind, value }: OperationInit): string {
  if (!kind || operationOf(kind).latestBy !== LatestBy.PACKAGE_AND_VERSION) return '';
  const { package: packageName, version } = value as { package?: string; version?: string };
  return [packageName, version].filter((part) => part !== undefined).join('@');
}

/**
 * A request of `DevicesService.sendOperation`. The service derives the last two fields from the kind; release 0.1.0
 * requires them.
 */
export const operationRequest = (kind: OperationInit & { case: OperationKind }) => ({
  operation: { kind },
  operationId: operationOf(kind.case).id,
  subject: subjectOf(kind),
});

/** Purpose of the encryption of a headset's artifact ticket. updates creates it, transactions re-encrypts it. */
export function ticketPurpose(deviceId: string): string {
  return `updates ticket ${deviceId}`;
}
