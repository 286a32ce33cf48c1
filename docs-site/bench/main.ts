import { join } from 'node:path';
import { closeBrowser } from '../tests/support/browser.ts';
import { routes } from '../tests/support/site.ts';
import { categories, goal, lighthouse } from './lighthouse.ts';
import { measurePaint, measureScroll } from './paint.ts';
import { build, copyProject } from './project.ts';
import { serveRedoc } from './redoc.ts';
import { load, serve } from './serve.ts';
import { triple } from './triple.ts';

/**
 * Measures the speed of the site: the build, the server, the API reference compared with Redoc on the same document,
 * and a document of three times the size. `make site-test` checks sizes. The last line counts the goals reached.
 */
const reference = '/apis/v1/cws_api';
const guide = '/docs/introduction/tutorial';
const notFound = '/no-such-page';

interface Row {
  readonly name: string;
  readonly value: string;
  readonly goal: string;
  readonly reached: boolean;
}
const rows: Row[] = [];

function row(name: string, value: string, goal: string, reached: boolean): void {
  rows.push({ name, value, goal, reached });
  process.stdout.write(`${reached ? 'ok    ' : 'MISSED'}  ${name.padEnd(52)} ${value.padEnd(28)} ${goal}\n`);
}

const ms = (value: number) => `${Math.round(value)} ms`;

const site = copyProject('project');
const { seconds, peakMiB } = await build(site);
row('build, clean cache', `${seconds.toFixed(1)} s`, '<= 60 s', seconds <= 60);
row('build, memory of all processes', `${Math.round(peakMiB)} MiB`, '<= 1536 MiB', peakMiB <= 1536);

const server = await serve(site);
const redoc = await serveRedoc(join(site, '../gateway/openapi/cws_api.yaml'));
try {
  row('server, ready', ms(server.readyMs), '<= 500 ms', server.readyMs <= 500);
  const { pagesPerSecond, residentMiB } = await load(server, guide);
  row('server, pages per second', pagesPerSecond.toFixed(0), '>= 2000', pagesPerSecond >= 2000);
  row('server, memory after the load', `${residentMiB.toFixed(0)} MiB`, '<= 90 MiB', residentMiB <= 90);
  // The not-found page has `noindex`, which lowers its SEO score.
  for (const route of routes.filter((one) => one !== notFound)) {
    const scores = await lighthouse(`${server.url}${route}`);
    const value = categories.map((name) => scores[name]).join(', ');
    const reached = categories.every((name) => scores[name] >= goal);
    row(`Lighthouse, ${route}`, value, `>= ${goal}: ${categories.join(', ')}`, reached);
  }
  const ours = await measurePaint(`${server.url}${reference}`, 'main h1');
  const theirs = await measurePaint(redoc.url, 'redoc h1');
  const both = (of: 'lcp' | 'tbt') => `${ms(ours[of])}, Redoc ${ms(theirs[of])}`;
  row('cws_api as on a phone, largest contentful paint', both('lcp'), 'better', ours.lcp < theirs.lcp);
  row('cws_api as on a phone, total blocking time', both('tbt'), 'better', ours.tbt < theirs.tbt);
} finally {
  await redoc.stop();
  await server.stop();
}

const large = copyProject('triple');
triple(join(large, '../gateway/openapi/cws_api.yaml'));
const built = await build(large);
row('three times the document, build', `${built.seconds.toFixed(1)} s`, 'builds', true);
const largeServer = await serve(large);
try {
  const { longestTask, elements } = await measureScroll(`${largeServer.url}${reference}`);
  const value = `${ms(longestTask)}, ${elements} elements`;
  row('three times the document, longest task while scrolling', value, '<= 200 ms', longestTask <= 200);
} finally {
  await largeServer.stop();
  await closeBrowser();
}

const missed = rows.filter(({ reached }) => !reached).length;
process.stdout.write(`${rows.length - missed} reached, ${missed} missed\n`);
process.exitCode = missed > 0 ? 1 : 0;
