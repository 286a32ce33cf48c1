import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { Journal } from './journal.ts';
import { LineFile } from './line-file.ts';
import { Outbox } from './outbox.ts';

const nowMs = 1_767_225_600_000;
let directory: string;
const open: Journal[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'counter-'));
});
afterEach(() => {
  for (const journal of open.splice(0)) journal.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Starts a headset with the stored state of the previous one. */
function boot() {
  for (const journal of open.splice(0)) journal.close();
  const journal = new Journal(new LineFile(join(directory, 'journal.jsonl'), 'process'));
  open.push(journal);
  const sent: Report[] = [];
  const send = (report: Report) => void sent.push(report);
  const outbox = new Outbox({ journal, nowMs: () => nowMs, send });
  const level = (value: number) => void outbox.add({ case: 'signal', value: { level: value } });
  const reported = () =>
    sent.map(({ reportId, body }) => [Number(reportId), body.case === 'signal' ? body.value.level : -1]);
  return { journal, outbox, level, reported };
}

describe('the outcome of a transaction', () => {
  it('is remembered for 30 days, and longer until 10,000 newer outcomes exist', () => {
    const { journal, outbox } = boot();
    const end = (id: number, occurredAtMs: number) => {
      const result = { case: 'result' as const, value: { transactionId: BigInt(id) } };
      const report = outbox.draft(result, 0, { occurredAtMs });
      journal.finished(id, { success: true, message: 'called' }, [report]);
    };
    const monthMs = 30 * 86_400_000;
    for (let id = 1; id <= 10_010; id += 1) end(id, nowMs);
    expect(journal.outcomes.size).toBe(10_010);
    end(10_011, nowMs + monthMs);
    expect(journal.outcomes.has(1)).toBe(true);
    end(10_012, nowMs + monthMs + 1);
    expect([...journal.outcomes.keys()].at(0)).toBe(13);
    expect(journal.outcomes.size).toBe(10_000);
  });
});

describe('report ids', () => {
  it('start at the clock if there is no state', () => {
    const { outbox, level, reported } = boot();
    level(1);
    outbox.open(0);
    level(2);
    expect(reported()).toEqual([
      [nowMs, 1],
      [nowMs + 1, 2],
    ]);
  });

  it('start above the acknowledged id if that is higher', () => {
    const { outbox, level, reported } = boot();
    outbox.open(nowMs + 5);
    level(1);
    expect(reported()).toEqual([[nowMs + 6, 1]]);
  });

  it('continue after the last stored id, also for reports before the welcome', () => {
    const first = boot();
    first.outbox.open(0);
    first.level(1);
    first.outbox.acknowledged(nowMs);
    const { outbox, level, reported } = boot();
    level(2);
    outbox.open(nowMs);
    level(3);
    expect(reported()).toEqual([
      [nowMs + 1, 2],
      [nowMs + 2, 3],
    ]);
  });

  it('of a restored older copy are raised above the acknowledged id, and no report before the welcome is lost', () => {
    const first = boot();
    first.outbox.open(0);
    first.level(1);
    first.outbox.acknowledged(nowMs);
    boot().level(2);
    // The second boot without a welcome: the report of the first boot has no final id yet.
    const { outbox, level, reported } = boot();
    level(3);
    outbox.open(nowMs + 1);
    expect(reported()).toEqual([
      [nowMs + 2, 2],
      [nowMs + 3, 3],
    ]);
    const last = boot();
    last.outbox.open(nowMs + 1);
    expect(last.reported()).toEqual(reported());
  });

  it('do not change after they were sent', () => {
    const { outbox, level, reported } = boot();
    outbox.open(0);
    level(1);
    outbox.close();
    outbox.open(0);
    expect(reported()).toEqual([
      [nowMs, 1],
      [nowMs, 1],
    ]);
  });
});

describe('a remembered outcome', () => {
  it('keeps the time and epoch of its end, and whether the app has answered, over restarts', () => {
    const first = boot();
    first.outbox.open(0);
    const result = first.outbox.draft({ case: 'result', value: { transactionId: 7n } }, 0, {
      occurredAtMs: 5000,
      activationEpoch: 3,
    });
    first.journal.finished(7, { success: true, message: 'called' }, [result]);
    expect(first.journal.outcomes.get(7)).not.toHaveProperty('answered');
    first.outbox.add({ case: 'appAnswer', value: { transactionId: 7n } });
    expect(boot().journal.outcomes.get(7)).toEqual({
      ...{ success: true, message: 'called', answered: true },
      ended: { occurredAtMs: 5000, activationEpoch: 3 },
    });
  });
});
