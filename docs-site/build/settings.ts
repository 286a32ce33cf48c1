/** Settings of the build. The server has separate settings (server/config.ts). */
export interface Settings {
  readonly environment: 'production' | 'staging' | 'development';
  /** Address from which the browser fetches the announcements. If it has another origin, the CSP allows that origin. */
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

/** Characters that would end a string in a sample of curl, Node or Python, or change in it. */
const unsafe = /[\s'"`$\\]/;

/** base: paths are appended; endpoint: called without changes; page: opened by the reader. */
type Kind = 'base' | 'endpoint' | 'page';

function url(name: string, given: string, kind: Kind): string {
  const value = given.trim();
  const shown = JSON.stringify(value);
  if (unsafe.test(value)) throw new SettingsError(`${name}: ${shown} contains a space, a quote, $, \\ or \``);
  if (!URL.canParse(value)) throw new SettingsError(`${name}: ${shown} is not an address (https://…)`);
  if (!/^https?:\/\//i.test(value))
    throw new SettingsError(`${name}: ${shown} must begin with http:// or https://`);
  const { href, username, password } = new URL(value);
  // The message omits the address, which contains credentials.
  if (username || password) throw new SettingsError(`${name}: the address must have no user and no password`);
  if (kind !== 'page' && /[?#]/.test(href))
    throw new SettingsError(`${name}: ${shown} must have no query and no hash`);
  return kind === 'base' ? href.replace(/\/$/, '') : href;
}

const sitePath = /^(?:\/(?!\.{1,2}(?:\/|$))[\p{L}\p{N}._-]+)+$/u;

/** An address, or a path of the site; build/outputs.ts checks that the file exists. */
function announcements(name: string, value: string): string {
  if (!value.startsWith('/') || unsafe.test(value)) return url(name, value, 'endpoint');
  if (!sitePath.test(value))
    throw new SettingsError(`${name}: "${value}" is not a path of the site (/announcements/production.md)`);
  return value;
}

function text(name: string, value: string): string {
  const trimmed = value.trim();
  if (trimmed === '' || trimmed.length > 80 || /\p{Cc}/u.test(trimmed))
    throw new SettingsError(`${name}: 1 to 80 characters are required, in one line`);
  return trimmed;
}

/** Checks the port of `make site`. The check is here, so that it fails before the build, which takes a minute. */
function checkPort(name: string, value: string | undefined): void {
  if (value && !(/^\d{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535))
    throw new SettingsError(`${name}: "${value}" is not a port (1 to 65535)`);
}

export const announcementsSetting = (environment: Settings['environment']) =>
  `SITE_ANNOUNCEMENTS_URL_${environment.toUpperCase()}`;

/** Reads the settings from the environment; an empty value counts as not set. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const read = (name: string, fallback: string) => env[name] || fallback;
  const chosen = read('SITE_ENVIRONMENT', 'production');
  const environment = environments.find((one) => one === chosen);
  if (!environment) {
    throw new SettingsError(`SITE_ENVIRONMENT: "${chosen}" is not one of ${environments.join(', ')}`);
  }
  const known = new Set([
    'SITE_ENVIRONMENT',
    ...environments.map(announcementsSetting),
    ...['SITE_URL', 'SITE_NAME', 'SITE_PROVIDER', 'SITE_API_URL', 'SITE_TOKEN_URL'],
    ...['SITE_INQUIRY_URL', 'SITE_MAILING_URL', 'SITE_PORT', 'SITE_LISTEN', 'SITE_DIST'],
  ]);
  for (const name of Object.keys(env)) {
    if (name.startsWith('SITE_') && !known.has(name)) throw new SettingsError(`${name}: unknown setting`);
  }
  checkPort('SITE_PORT', env['SITE_PORT']);
  // Checks the addresses of all environments, so that a mistake is found before the build of that environment.
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
