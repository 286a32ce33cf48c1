import { getOption, hasOption, type MessageInitShape } from '@bufbuild/protobuf';
import { catalog, LatestBy, ResultForm } from './gen/device_link/v1/catalog_pb.ts';
import { type Operation, OperationSchema } from './gen/device_link/v1/device_link_pb.ts';

export { LatestBy, ResultForm };

/** What an operation does, by the name of its field of the message Operation. */
export type OperationKind = NonNullable<Operation['kind']['case']>;

/** The oldest versions that know an operation; empty: any. */
export interface MinimumVersions {
  readonly client: string;
  readonly firmware: string;
}

/** What an operation is (device_link/v1/catalog.proto tells the meaning of each field). */
export interface OperationEntry {
  readonly kind: OperationKind;
  /** The operationId of its call. */
  readonly id: string;
  /** Undefined: every headset knows it. */
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

/** The catalogue of operations, as it stands in device_link.proto: one entry for each kind. */
export const operations: readonly OperationEntry[] = readCatalog();

const byKind = new Map(operations.map((entry) => [entry.kind, entry]));
const byId = new Map(operations.map((entry) => [entry.id, entry]));

/** The entry of a kind, which every kind has. */
export function operationOf(kind: OperationKind): OperationEntry {
  const entry = byKind.get(kind);
  if (!entry) throw new Error(`no operation is of the kind ${kind}`);
  return entry;
}

/** The entry of an operationId as it is stored; undefined: a newer version's, or no operation of a headset. */
export const operationById = (operationId: string): OperationEntry | undefined => byId.get(operationId);

/** An operation that is to be sent: its kind and what it says. */
export type OperationInit = NonNullable<MessageInitShape<typeof OperationSchema>['kind']>;

/** What 'latest' is judged by beside the operationId; empty where the operationId is all. */
export function subjectOf({ case: kind, value }: OperationInit): string {
  if (!kind || operationOf(kind).latestBy !== LatestBy.PACKAGE_AND_VERSION) return '';
  const { package: packageName, version } = value as { package?: string; version?: string };
  return [packageName, version].filter((part) => part !== undefined).join('@');
}

/**
 * An operation as `DevicesService.sendOperation` takes it. The service derives the last two from the kind; that of
 * 0.1.0 asks for them.
 */
export const operationRequest = (kind: OperationInit & { case: OperationKind }) => ({
  operation: { kind },
  operationId: operationOf(kind.case).id,
  subject: subjectOf(kind),
});

/** What the ticket of an artifact is sealed for: one headset. updates makes it, transactions moves it to another key. */
export function ticketPurpose(deviceId: string): string {
  return `updates ticket ${deviceId}`;
}
