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

/** What would end a string of a sample in curl, Node or Python, or be changed there. */
const unsafe = /[\s'"`$\\]/;

/** A base gets paths behind it, an endpoint is called as it is, a page is opened by the reader. */
type Kind = 'base' | 'endpoint' | 'page';

function url(name: string, given: string, kind: Kind): string {
  const value = given.trim();
  const shown = JSON.stringify(value);
  if (unsafe.test(value)) throw new SettingsError(`${name}: ${shown} holds a space, a quote, $, \\ or \``);
  if (!URL.canParse(value)) throw new SettingsError(`${name}: ${shown} is not an address (https://…)`);
  if (!/^https?:\/\//i.test(value))
    throw new SettingsError(`${name}: ${shown} must begin with http:// or https://`);
  const { href, username, password } = new URL(value);
  // Not shown: it may be a secret.
  if (username || password) throw new SettingsError(`${name}: the address must have no user and no password`);
  if (kind !== 'page' && /[?#]/.test(href))
    throw new SettingsError(`${name}: ${shown} must have no query and no hash`);
  return kind === 'base' ? href.replace(/\/$/, '') : href;
}

const sitePath = /^(?:\/(?!\.{1,2}(?:\/|$))[\p{L}\p{N}._-]+)+$/u;

/** An address, or a path of the site; build/outputs.ts checks that the file is there. */
function announcements(name: string, value: string): string {
  if (!value.startsWith('/') || unsafe.test(value)) return url(name, value, 'endpoint');
  if (!sitePath.test(value))
    throw new SettingsError(`${name}: "${value}" is not a path of the site (/announcements/production.md)`);
  return value;
}

function text(name: string, value: string): string {
  const trimmed = value.trim();
  if (trimmed === '' || trimmed.length > 80 || /\p{Cc}/u.test(trimmed))
    throw new SettingsError(`${name}: 1 to 80 characters are needed, in one line`);
  return trimmed;
}

/** `make site` serves on it; told here, before the build has taken its minute. */
function checkPort(name: string, value: string | undefined): void {
  if (value && !(/^\d{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535))
    throw new SettingsError(`${name}: "${value}" is no port (1 to 65535)`);
}

export const announcementsSetting = (environment: Settings['environment']) =>
  `SITE_ANNOUNCEMENTS_URL_${environment.toUpperCase()}`;

/** Reads the settings from the environment; an empty value counts as not set. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const read = (name: string, fallback: string) => env[name] || fallback;
  const chosen = read('SITE_ENVIRONMENT', 'production');
  const environment = environments.find((one) => one === chosen);
  if (!environment) {
    throw new SettingsError(`SITE_ENVIRONMENT: "${chosen}" is none of ${environments.join(', ')}`);
  }
  const known = new Set([
    'SITE_ENVIRONMENT',
    ...environments.map(announcementsSetting),
    ...['SITE_URL', 'SITE_NAME', 'SITE_PROVIDER', 'SITE_API_URL', 'SITE_TOKEN_URL'],
    ...['SITE_INQUIRY_URL', 'SITE_MAILING_URL', 'SITE_PORT', 'SITE_LISTEN', 'SITE_DIST'],
  ]);
  for (const name of Object.keys(env)) {
    if (name.startsWith('SITE_') && !known.has(name)) throw new SettingsError(`${name}: no such setting`);
  }
  checkPort('SITE_PORT', env['SITE_PORT']);
  // Those of the other environments are read as well: a mistake is found before their own build.
  const announcementsOf = (one: Settings['environment']) => {
    const name = announcementsSetting(one);
    return announcements(name, read(name, `/announcements/${one}.md`));
  };
  for (const one of environments) announcementsOf(one);
  const address = (name: string, fallback: string, kind: Kind) => url(name, read(name, fallback), kind);
  return Object.freeze({
    environment,
    announcementsUrl: announcementsOf(environment),
    siteUrl: address('SITE_URL', 'https://docs.headset-cloud.example', 'base'),
    siteName: text('SITE_NAME', read('SITE_NAME', 'Headset Cloud ガイド')),
    providerName: text('SITE_PROVIDER', read('SITE_PROVIDER', 'Headset Cloud')),
    apiUrl: address('SITE_API_URL', 'https://api.headset-cloud.example', 'base'),
    tokenUrl: address('SITE_TOKEN_URL', 'https://auth.headset-cloud.example/token', 'endpoint'),
    inquiryUrl: address('SITE_INQUIRY_URL', 'https://support.headset-cloud.example/inquiry', 'page'),
    mailingUrl: address('SITE_MAILING_URL', 'https://support.headset-cloud.example/mailing', 'page'),
  });
}
