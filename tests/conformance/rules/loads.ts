import { UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Link, OperationKind } from '../cloud/link.ts';
import type { FileAnswer, FileRequest } from '../files.ts';
import type { Rule } from '../rule.ts';
import type { Stage } from '../stage.ts';
import { must } from '../verdict.ts';

const part = 20_000;

/** Runs one update with these answers to its GETs. Returns its result, GETs and effects. */
async function load(stage: Stage, answer: (request: FileRequest, number: number) => FileAnswer) {
  stage.files.answer = answer;
  const link = await stage.begin();
  const id = stage.id();
  const { value } = await link.run(id, stage.update());
  return { link, id, ...value, gets: stage.files.of('GET'), effects: stage.effects(id) };
}

/** Offers and starts a transaction. */
export async function start(link: Link, id: bigint, kind: OperationKind): Promise<void> {
  link.offer(id, kind);
  await link.ready(id);
  link.start(id);
}

/** Lists the first byte of each GET. */
export const list = (gets: readonly FileRequest[]) => gets.map(({ from }) => from).join(', ');

/** Rules about the download of an update. */
export const loads: readonly Rule[] = [
  {
    id: 'updates/resumed-after-cut',
    sentence: 'continue with Range: bytes=<size of the file>-',
    prove: async (stage) => {
      const { success, gets, effects } = await load(stage, (_, n) => (n <= 3 ? { cutAfter: part } : 'well'));
      must(success && effects === 1, `success ${success}, ${effects} effects`);
      must(
        gets.some(({ from }) => from > 0 && from <= 3 * part),
        `the GETs began at ${list(gets)}`,
      );
    },
  },
  {
    id: 'updates/range-ignored',
    sentence: 'the whole file comes: begin again at 0',
    prove: async (stage) => {
      const { success, gets } = await load(stage, (_, n) => (n === 1 ? { cutAfter: part } : 'whole'));
      must(success && gets.length === 2, `success ${success}, after ${gets.length} GETs`);
    },
  },
  {
    id: 'updates/range-refused',
    sentence: '416, or another start or total size | delete the file, begin again',
    prove: async (stage) => {
      const { success, gets, effects } = await load(stage, (_, n) => {
        if (n === 1) return { cutAfter: part };
        return n === 2 ? { status: 416 } : 'well';
      });
      must(success && effects === 1, `success ${success}, ${effects} effects`);
      must(gets[2]?.from === 0, `the GETs began at ${list(gets)}`);
    },
  },
  {
    id: 'updates/ranges-refused',
    sentence: 'delete the file, begin again; counts as a wrong hash',
    seconds: 6,
    prove: async (stage) => {
      stage.files.answer = () => ({ status: 416 });
      const link = await stage.begin();
      const id = stage.id();
      await start(link, id, stage.update());
      const result = () => link.reportsOf('result').find((r) => r.value.transactionId === id);
      await link.until('the failure', () => result() ?? stage.files.of('GET').length > 3, 10_000);
      must(stage.files.of('GET').length === 3, `${stage.files.of('GET').length} downloads were tried, not 3`);
      must(result()?.value.success === false && stage.effects(id) === 0, 'the result is a success');
    },
  },
  {
    id: 'updates/redirects-bounded',
    sentence: 'up to 5 times in a row and never from https to http; else as other 4xx',
    prove: async (stage) => {
      let asked = 0;
      stage.cloud.onUrl = () => {
        asked += 1;
        if (asked > 1) stage.files.release();
        return { url: stage.files.address() };
      };
      stage.files.answer = () => 'elsewhere';
      const link = await stage.begin();
      const id = stage.id();
      await start(link, id, stage.update());
      const gets = () => stage.files.of('GET').length;
      await link.until('the request for another URL', () => asked > 1 || gets() > 6);
      must(
        asked > 1 && gets() >= 6,
        `${gets()} GETs, ${asked} URL requests; 6 GETs must come before the second request`,
      );
      must((await link.result(id)).value.success, 'it failed');
      must(gets() === 7, `${gets()} GETs, not 6 and 1`);
    },
  },
  {
    id: 'updates/newest-ticket',
    sentence: 'the ticket of an artifact may differ: the newest counts',
    prove: async (stage) => {
      stage.files.answer = (_, n) => (n === 1 ? { status: 403 } : 'well');
      stage.cloud.onUrl = () => undefined;
      const link = await stage.begin();
      const id = stage.id();
      const update = stage.update();
      await start(link, id, update);
      const first = await link.until('the URL request', () => link.urlRequests[0]);
      const ticket = Uint8Array.from(Buffer.from('newer'));
      const artifact = { ...stage.files.artifact(), ticket };
      const { package: name, version } = update.value;
      link.offer(id, { case: 'updateApp', value: { package: name ?? '', version: version ?? '', artifact } });
      await link.ready(id, 2);
      stage.cloud.onUrl = () => ({ url: stage.files.address() });
      link.send({ case: 'urlAnswer', value: { requestId: first.requestId, url: stage.files.address() } });
      must((await link.result(id)).value.success, 'it failed');
      const asked = link.urlRequests.at(-1)?.about;
      const last = asked?.case === 'downloadTicket' ? Buffer.from(asked.value).toString() : '';
      must(last === 'newer', `the ticket is "${last}", not that of the newest offer`);
    },
  },
  {
    id: 'updates/redirected',
    sentence: 'GET there with the same Range, up to 5 times in a row',
    prove: async (stage) => {
      const { link, success, gets } = await load(stage, (_, n) => {
        if (n === 1) return { cutAfter: part };
        return n === 2 ? 'elsewhere' : 'well';
      });
      must(success, 'it failed');
      must(gets.length === 3 && gets[2]?.from === gets[1]?.from, `the GETs began at ${list(gets)}`);
      must(link.urlRequests.length === 1, `${link.urlRequests.length} URLs were requested`);
    },
  },
  {
    id: 'updates/wrong-hash',
    sentence:
      'Wrong: delete it and load again; after the third time the transaction fails. Nothing that was not checked is ever installed.',
    prove: async (stage) => {
      const { link, id, success, gets } = await load(stage, () => 'wrong-bytes');
      must(stage.effects(id) === 0, 'a file whose hash is wrong was installed');
      must(!success, 'the result is a success');
      must(gets.length === 3, `it was loaded ${gets.length} times, not 3`);
      stage.files.answer = (_, n) => (n <= 5 ? 'wrong-bytes' : 'well');
      const right = stage.id();
      const { value } = await link.run(right, stage.update());
      must(
        value.success && stage.effects(right) === 1,
        'an update failed although its third download was correct',
      );
    },
  },
  {
    id: 'updates/address-used-up',
    sentence: 'the address is used up: ask for a fresh one',
    prove: async (stage) => {
      const { success, gets } = await load(stage, (_, n) => (n === 1 ? { status: 403 } : 'well'));
      must(success, 'it failed');
      must(gets.length === 2 && gets[0]?.path !== gets[1]?.path, 'the refused URL was used again');
    },
  },
  {
    id: 'updates/server-trouble',
    sentence:
      '408, 429, 5xx, nothing for 30 s, cut off | wait (1 s, doubled each time, 30 s at most), continue where it was',
    prove: async (stage) => {
      const { link, success, gets } = await load(stage, (_, n) => {
        if (n === 1) return { cutAfter: part };
        return n === 2 ? { status: 503 } : 'well';
      });
      must(success, 'it failed');
      must(new Set(gets.map(({ path }) => path)).size === 1, 'another URL was requested');
      must(link.urlRequests.length === 1, `${link.urlRequests.length} URLs were requested`);
    },
  },
  {
    id: 'updates/waits-doubled',
    sentence: 'wait (1 s, doubled each time, 30 s at most) … new bytes reset the wait to 1 s',
    seconds: 8,
    prove: async (stage) => {
      stage.files.answer = (_, n) => {
        if (n <= 3) return { status: 503 };
        return n === 4 ? { cutAfter: part } : 'well';
      };
      const link = await stage.begin();
      const id = stage.id();
      await start(link, id, stage.update());
      const gets = () => stage.files.of('GET');
      await link.until('the fifth GET', () => gets().length > 4, 12_000);
      const waits = gets().map(({ atMs }, n) => (atMs - (gets()[n - 1]?.atMs ?? atMs)) / 1000);
      const waited = waits.slice(1).map((seconds) => `${seconds.toFixed(1)} s`);
      for (const [n, least] of [1, 2, 4].entries()) {
        must((waits[n + 1] ?? 0) > least - 0.05, `waited ${waited.join(', ')}; 1, 2 and 4 s are required`);
      }
      must((waits[4] ?? 0) < 6, `waited ${waited.join(', ')}; after new bytes 1 s is required`);
      must((await link.result(id)).value.success, 'it failed');
    },
  },
  {
    id: 'updates/too-many-requests',
    sentence: '408, 429, 5xx, nothing for 30 s, cut off | wait (1 s, doubled each time, 30 s at most)',
    prove: async (stage) => {
      const status = (n: number) => (n === 1 ? 429 : 408);
      const { link, success, gets } = await load(stage, (_, n) => (n <= 2 ? { status: status(n) } : 'well'));
      must(success, 'it failed');
      must(new Set(gets.map(({ path }) => path)).size === 1, 'another URL was requested');
      must(link.urlRequests.length === 1, `${link.urlRequests.length} URLs were requested`);
    },
  },
  {
    id: 'updates/addresses-refused',
    sentence:
      '5 refused addresses in a row, without a new byte of the file between them, end the transaction as a failure. … 5xx, cuts, expired addresses, UNAVAILABLE and new sessions in between do not, and do not count.',
    seconds: 16,
    prove: async (stage) => {
      // One URL is refused only at the second attempt. 400 and 404 count like 403.
      const statuses = [403, 400, 503, 404, 403, 410];
      stage.files.answer = (_, n) => ({ status: statuses[n - 1] ?? 403 });
      const link = await stage.begin();
      const id = stage.id();
      await start(link, id, stage.update());
      const result = () => link.reportsOf('result').find((r) => r.value.transactionId === id);
      const gets = () => stage.files.of('GET');
      await link.until('the failure', () => result() ?? gets().length > statuses.length, 45_000);
      must(gets().length === statuses.length, `${gets().length} GETs, not ${statuses.length}`);
      const addresses = new Set(gets().map(({ path }) => path)).size;
      must(addresses === 5, `${addresses} URLs were tried, not 5`);
      must(result()?.value.success === false, 'the result is a success');
    },
  },
  {
    id: 'updates/refused-row',
    sentence: 'Nothing but a new byte and a restart breaks the row',
    seconds: 11,
    prove: async (stage) => {
      stage.files.answer = (_, n) => {
        if (n === 4) return { cutAfter: part };
        return n < 8 ? { status: 403 } : 'well';
      };
      const link = await stage.begin();
      const id = stage.id();
      await start(link, id, stage.update());
      const result = () => link.reportsOf('result').find(({ value }) => value.transactionId === id);
      const { value } = await link.until('the result', result, 30_000);
      must(value.success, 'it failed although new bytes arrived between the refused URLs');
      const { length } = stage.files.of('GET');
      must(length === 8, `${length} GETs, not 8`);
    },
  },
  {
    id: 'updates/expired-address',
    sentence: "One whose expires_at_ms (by the server's clock) has passed is not used again: ask again.",
    prove: async (stage) => {
      let asked = 0;
      // The headset's own clock is three days behind: by this clock the URL would be valid for days.
      stage.cloud.clockOffsetMs = 3 * 86_400_000;
      stage.cloud.onUrl = () => {
        asked += 1;
        const soon = BigInt(stage.cloud.nowMs() + 500);
        return { url: stage.files.address(), ...(asked === 1 && { expiresAtMs: soon }) };
      };
      // The headset waits for a second after the cut. The URL expires in this time.
      const { success, gets } = await load(stage, (_, n) => (n === 1 ? { cutAfter: part } : 'well'));
      must(success, 'it failed');
      must(new Set(gets.map(({ path }) => path)).size === gets.length, 'the expired URL was used again');
    },
  },
  {
    id: 'updates/artifact-gone',
    sentence:
      'An address that is refused with URL_REFUSAL_NOT_FOUND (the artifact is withdrawn) ends the transaction as a failure.',
    prove: async (stage) => {
      stage.cloud.onUrl = () => ({ refusal: UrlRefusal.NOT_FOUND });
      const { success, link, effects } = await load(stage, () => 'well');
      must(!success && effects === 0, 'the result is a success');
      await stage.fence(link);
    },
  },
];
