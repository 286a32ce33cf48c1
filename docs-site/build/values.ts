import type { Settings } from './settings.ts';

/** The values a reader fills in once for all samples; the names are those of `demo.json`. */
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

/** What a sample shows while the reader has filled in nothing. */
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

/** Replaces `{{name}}`; a name that nobody knows is an error of the page's author. */
export function fill(code: string, values: Readonly<Record<string, string>>): string {
  return code.replace(placeholder, (whole, name: string) => {
    const value = values[name];
    if (value === undefined)
      throw new Error(`${whole} is no value of the reader (known: ${valueNames.join(', ')})`);
    return value;
  });
}
