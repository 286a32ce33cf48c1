import { start } from './run.ts';
import { readServerSettings, SettingsError } from './settings.ts';

const log = (level: string, message: string, fields: Record<string, unknown> = {}) =>
  process.stdout.write(
    `${JSON.stringify({ level, time: new Date().toISOString(), service: 'docs-site', ...fields, message })}\n`,
  );

/** Ends like the platform's processes (services/kit/src/host.ts): 2 for wrong settings, 1 for anything else. */
const fail = (error: Error): never => {
  if (error instanceof SettingsError) {
    log('fatal', 'wrong configuration', { problems: error.problems });
    process.exit(2);
  }
  const { name: type, message, stack } = error;
  log('fatal', 'the process ends because of an unexpected error', { err: { type, message, stack } });
  process.exit(1);
};

process.on('uncaughtException', fail);

try {
  const running = await start(readServerSettings(process.env));
  log('info', 'the site is served', { port: running.port, adminPort: running.adminPort });
  const stop = (signal: string) => {
    log('info', 'stopping', { signal });
    running.stop().then(() => log('info', 'stopped'), fail);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop);
} catch (error) {
  fail(error as Error);
}
