import { readFileSync } from 'node:fs';
import { type DescField, type DescMessage, getOption } from '@bufbuild/protobuf';
import { erased_at_end } from './gen/device_link/v1/catalog_pb.ts';
import { OperationSchema } from './gen/device_link/v1/device_link_pb.ts';
import {
  LatestBy,
  operationById,
  operationOf,
  operationRequest,
  operations,
  ResultForm,
  subjectOf,
} from './operations.ts';

describe('the catalogue of operations', () => {
  it('has an entry for each kind, and for nothing else', () => {
    expect(operations.map(({ kind }) => kind)).toEqual(
      OperationSchema.fields.map((field) => field.localName),
    );
  });

  it('ties each kind to one operationId, and back', () => {
    for (const entry of operations) {
      expect(operationOf(entry.kind)).toBe(entry);
      expect(operationById(entry.id)).toBe(entry);
    }
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
  });

  it('names each secret, and each free content that may hold one, to be erased at the end', () => {
    const below = (message: DescMessage): DescField[] =>
      message.fields.flatMap((field) => [field, ...(field.message ? below(field.message) : [])]);
    const fields = below(OperationSchema);
    const erased = fields.filter((field) => getOption(field, erased_at_end));
    expect(erased.map(({ parent, name }) => `${parent.name}.${name}`)).toEqual([
      'Activate.client_secret',
      'Command.extras_json',
      'Apn.password',
      'WifiNetwork.password',
      'ApplyLauncherKeys.config_json',
    ]);
    expect(fields.filter(({ name }) => /secret|passw|passphrase|psk|json/.test(name))).toEqual(erased);
    // A map is not looked through.
    expect(fields.filter(({ fieldKind, message }) => fieldKind === 'map' && message)).toEqual([]);
  });

  it('names calls that the contract describes', () => {
    const contract = readFileSync(new URL('../gateway/openapi/cws_api.yaml', import.meta.url), 'utf8');
    for (const { id } of operations) expect(contract).toContain(`operationId: ${id}\n`);
  });

  it.each(operations)('$kind has a result form and a rule for the latest one', (entry) => {
    expect(entry.resultForm).not.toBe(ResultForm.UNSPECIFIED);
    expect(entry.latestBy).not.toBe(LatestBy.UNSPECIFIED);
    expect(entry.id).toMatch(/^(?:get|put|post|delete)-v1-applications-[a-z-]+$/);
    for (const version of [entry.minimum?.client, entry.minimum?.firmware])
      expect(version || '0').toMatch(/^\d+(?:\.\d+)*$/);
  });

  // Written again from the specification (API 5).
  it('knows the oldest versions that the specification names', () => {
    const minima = operations.filter(({ minimum }) => minimum);
    expect(Object.fromEntries(minima.map(({ id, minimum }) => [id, minimum]))).toEqual({
      'put-v1-applications-devices-apps-launcher-keys': { client: '2.1.1', firmware: '' },
      'delete-v1-applications-devices-package': { client: '3.4.0', firmware: '' },
      ...Object.fromEntries(
        [
          'get-v1-applications-connectivity-list',
          'get-v1-applications-connectivity-state',
          'put-v1-applications-connectivity-state',
          'delete-v1-applications-connectivity-reset',
          'post-v1-applications-bluetooth-device',
          'put-v1-applications-bluetooth-device',
          'delete-v1-applications-bluetooth-device',
        ].map((id) => [id, { client: '2.3.1', firmware: '9.001.0' }]),
      ),
    });
  });

  it('does not know an id of a newer version', () => {
    expect(operationById('put-v1-applications-devices-of-tomorrow')).toBeUndefined();
    expect(operationById('')).toBeUndefined();
  });
});

describe('the subject of latest', () => {
  it('is the package and version of an update, the version of a firmware', () => {
    expect(subjectOf({ case: 'updateApp', value: { package: 'a.b', version: '1.2' } })).toBe('a.b@1.2');
    expect(subjectOf({ case: 'updateFirmware', value: { version: '9.002.0' } })).toBe('9.002.0');
  });

  it('is empty for all other operations', () => {
    expect(subjectOf({ case: 'uninstall', value: { package: 'a.b' } })).toBe('');
    expect(subjectOf({ case: 'command', value: { package: 'a.b' } })).toBe('');
    expect(subjectOf({ case: undefined })).toBe('');
  });

  it('is part of the request for an operation', () => {
    const kind = { case: 'updateApp', value: { package: 'a.b', version: '1.2' } } as const;
    expect(operationRequest(kind)).toEqual({
      operation: { kind },
      operationId: 'put-v1-applications-devices-apps',
      subject: 'a.b@1.2',
    });
  });
});
