import { start } from './run.ts';
import { readServerSettings, SettingsError } from './settings.ts';

const log = (level: string, message: string, fields: Record<string, unknown> = {}) =>
  process.stdout.write(
    `${JSON.stringify({ level, time: new Date().toISOString(), service: 'docs-site', message, ...fields })}\n`,
  );

process.on('uncaughtException', ({ message, stack }) => {
  log('fatal', message, { stack });
  process.exit(1);
});

try {
  const running = await start(readServerSettings(process.env));
  log('info', 'the site is served', { port: running.port, adminPort: running.adminPort });
  const stop = (signal: string) => {
    log('info', 'stopping', { signal });
    running.stop().then(
      () => log('info', 'stopped'),
      (error: Error) => {
        log('error', error.message);
        process.exitCode = 1;
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop);
} catch (error) {
  const { message, stack } = error as Error;
  log('fatal', message, error instanceof SettingsError ? {} : { stack });
  process.exitCode = 1;
}
