/** Everything a build can be told, with its defaults. The server takes its own settings (server/settings.ts). */
export interface Settings {
  readonly environment: 'production' | 'staging' | 'development';
  /** Where the browser fetches the announcements; on another origin it enters the CSP. */
  readonly announcementsUrl: string;
  readonly siteUrl: string;
  readonly siteName: string;
  readonly providerName: string;
  readonly apiUrl: string;
  readonly tokenUrl: string;
  readonly inquiryUrl: string;
  readonly mailingUrl: string;
}

export class SettingsError extends Error {}

const environments = ['production', 'staging', 'development'] as const;

function url(name: string, value: string, allowPath: boolean): string {
  if (allowPath && value.startsWith('/') && !value.startsWith('//')) return value;
  let parsed: URL;
  try {
    parsed = new URL(value);
  } catch {
    throw new SettingsError(`${name}: "${value}" is not an address (https://…)`);
  }
  if (!/^https?:$/.test(parsed.protocol)) {
    throw new SettingsError(`${name}: "${value}" must begin with http:// or https://`);
  }
  return value.replace(/\/$/, '');
}

function text(name: string, value: string): string {
  const trimmed = value.trim();
  if (trimmed === '' || trimmed.length > 80)
    throw new SettingsError(`${name}: 1 to 80 characters are needed`);
  return trimmed;
}

/** Reads the settings from the environment; an empty value counts as not set. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const read = (name: string, fallback: string) => env[name] || fallback;
  const chosen = read('SITE_ENVIRONMENT', 'production');
  const environment = environments.find((one) => one === chosen);
  if (!environment) {
    throw new SettingsError(`SITE_ENVIRONMENT: "${chosen}" is none of ${environments.join(', ')}`);
  }
  const announcements = `SITE_ANNOUNCEMENTS_URL_${environment.toUpperCase()}`;
  const known = new Set([
    'SITE_ENVIRONMENT',
    ...environments.map((one) => `SITE_ANNOUNCEMENTS_URL_${one.toUpperCase()}`),
    ...['SITE_URL', 'SITE_NAME', 'SITE_PROVIDER', 'SITE_API_URL', 'SITE_TOKEN_URL'],
    ...['SITE_INQUIRY_URL', 'SITE_MAILING_URL', 'SITE_PORT', 'SITE_LISTEN', 'SITE_DIST'],
  ]);
  for (const name of Object.keys(env)) {
    if (name.startsWith('SITE_') && !known.has(name)) throw new SettingsError(`${name}: no such setting`);
  }
  return Object.freeze({
    environment,
    announcementsUrl: url(announcements, read(announcements, `/announcements/${environment}.md`), true),
    siteUrl: url('SITE_URL', read('SITE_URL', 'https://docs.headset-cloud.example'), false),
    siteName: text('SITE_NAME', read('SITE_NAME', 'Headset Cloud ガイド')),
    providerName: text('SITE_PROVIDER', read('SITE_PROVIDER', 'Headset Cloud')),
    apiUrl: url('SITE_API_URL', read('SITE_API_URL', 'https://api.headset-cloud.example'), false),
    tokenUrl: url(
      'SITE_TOKEN_URL',
      read('SITE_TOKEN_URL', 'https://auth.headset-cloud.example/token'),
      false,
    ),
    inquiryUrl: url(
      'SITE_INQUIRY_URL',
      read('SITE_INQUIRY_URL', 'https://support.headset-cloud.example/inquiry'),
      false,
    ),
    mailingUrl: url(
      'SITE_MAILING_URL',
      read('SITE_MAILING_URL', 'https://support.headset-cloud.example/mailing'),
      false,
    ),
  });
}
