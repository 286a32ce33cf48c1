import type { Settings } from './settings.ts';

/** Names of the reader values: a reader enters them once for all samples. The names are those of `demo.json`. */
export const valueNames = [
  'apiUrl',
  'tokenUrl',
  'clientId',
  'clientSecret',
  'applicationId',
  'deviceId',
  'integratorUrl',
  'authenticationKey',
] as const;
export type ValueName = (typeof valueNames)[number];

/** Values in samples until the reader has filled in the form. */
export function exampleValues(
  settings: Pick<Settings, 'apiUrl' | 'tokenUrl'>,
): Readonly<Record<ValueName, string>> {
  return {
    apiUrl: settings.apiUrl,
    tokenUrl: settings.tokenUrl,
    clientId: 'your-client-id',
    clientSecret: 'your-client-secret',
    applicationId: 'your-application-id',
    deviceId: '356938035643809',
    integratorUrl: 'https://integrator.example/callbacks',
    authenticationKey: 'your-authentication-key',
  };
}

export const placeholder = /\{\{(\w+)\}\}/g;

/** Replaces `{{name}}` by its value. Throws if the name is unknown. */
export function fill(code: string, values: Readonly<Record<string, string>>): string {
  return code.replace(placeholder, (whole, name: string) => {
    const value = values[name];
    if (value === undefined)
      throw new Error(`${whole} is not a reader value (known: ${valueNames.join(', ')})`);
    return value;
  });
}
