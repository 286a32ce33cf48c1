import { readFileSync } from 'node:fs';

/** The platform's version, of the package that all processes share. */
export function platformVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
